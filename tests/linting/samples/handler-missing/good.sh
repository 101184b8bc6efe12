#!/usr/bin/env bash
source "$(hookrunner shell-lib)"
__config__() {
  cat <<CONFIG
configVersion: v1
kubernetes:
- name: namespaces
  kind: Namespace
onStartup: 1
schedule:
- {name: nightly, crontab: "@daily", group: all}
CONFIG
}
function __on_startup {
  echo started
}
__on_kubernetes::namespaces::synchronization() { context::jq '.objects | length'; }
__on_kubernetes::namespaces::added_or_modified() {
  context::get object.metadata.name
}
function __on_kubernetes::namespaces::deleted() {
  echo gone
}
__on_group::all() { echo night; }
hook::run "$@"
