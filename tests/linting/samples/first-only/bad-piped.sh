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
jq . "$BINDING_CONTEXT_PATH"
cat "${BINDING_CONTEXT_PATH}" | jq -r '.[0] | "\(.type) \(.binding)"'
