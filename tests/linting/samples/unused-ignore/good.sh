#!/bin/sh
# hookrunner: ignore=cron-busy this one is quick
cat <<'CONFIG'
configVersion: v1
schedule:
- {crontab: "@every 1s"}
CONFIG
