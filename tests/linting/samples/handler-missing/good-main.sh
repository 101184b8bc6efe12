#!/usr/bin/env bash
source "$(hookrunner shell-lib)"
function __config__() {
  cat <<CONFIG
configVersion: v1
kubernetes:
- name: namespaces
  kind: Namespace
CONFIG
}
function __main__() {
  context::get type
}
hook::run "$@"
