#!/usr/bin/env bash
source "$(hookrunner shell-lib)"
__config__() {
  cat <<CONFIG
configVersion: v1
kubernetes:
- name: namespaces
  kind: Namespace
CONFIG
}
__on_kubernetes::namespaces::added_or_modified() {
  context::get object.metadata.name
}
hook::run "$@"
