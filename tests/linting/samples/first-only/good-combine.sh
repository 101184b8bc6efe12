#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<CONFIG
configVersion: v1
kubernetes:
- name: namespaces
  kind: Namespace
settings: {combine: false}
CONFIG
  exit
fi
jq -r '.[0].type' "$BINDING_CONTEXT_PATH"
