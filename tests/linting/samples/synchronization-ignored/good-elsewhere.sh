#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<CONFIG
configVersion: v1
kubernetes:
- name: namespaces
  kind: Namespace
CONFIG
  exit
fi
source ./common.sh # which may know of Synchronizations
jq -r '.[] | .watchEvent' "$BINDING_CONTEXT_PATH"
