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
__on_kubernetes::namespace::added() {
  context::get object.metadata.name
}
__main__() { echo else; }
hook::run "$@"
