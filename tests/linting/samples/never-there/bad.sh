#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetes:
- {name: pods, kind: Pod, group: all, keepFullObjectsInMemory: false, jqFilter: .metadata.name}
CONFIG
  exit
fi
jq -r '.[].snapshots.pods[].object.metadata.name' "$BINDING_CONTEXT_PATH"
