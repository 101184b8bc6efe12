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
type=$(jq -r '.[0].type' "$BINDING_CONTEXT_PATH")
if [[ $type == Event ]]; then
  jq -r '
    .[0].object
    | .metadata.name' "$BINDING_CONTEXT_PATH"
fi
