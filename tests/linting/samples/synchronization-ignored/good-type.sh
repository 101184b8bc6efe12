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
jq -r '.[] | if .type == "Event" then .watchEvent else "all" end' "$BINDING_CONTEXT_PATH"
