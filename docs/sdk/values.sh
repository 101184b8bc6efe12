#!/usr/bin/env bash
if [[ ${1:-} == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
beforeHelm: 10
kubernetes:
- name: nodes
  apiVersion: v1
  kind: Node
  executeHookOnEvent: []
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: .metadata.name
CONFIG
  exit
fi
jq -c 'last.snapshots.nodes | {op: "add", path: "/web/replicas", value: ([length, 3] | min)}' \
  "$BINDING_CONTEXT_PATH" >"$VALUES_JSON_PATCH_PATH"
