#!/usr/bin/env bash
source "$(hookrunner shell-lib)"
__config__() {
  echo '{"configVersion": "v1", "onStartup": 1, "schedule": [{"name": "nightly", "crontab": "@daily"}]}'
}
__on_schedule::nightly() {
  echo night
}
hook::run "$@"
