#!/usr/bin/env bash
if [[ ${1:-} == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetes:
- name: note
  apiVersion: v1
  kind: ConfigMap
  namespace: {nameSelector: {matchNames: [shop]}}
  executeHookOnEvent: [Added, Modified]
  executeHookOnSynchronization: false
  jqFilter: .data
  queue: notes
CONFIG
  exit
fi
jq -r '.[] | "\(.watchEvent) \(.object.metadata.name): \(.filterResult.color)"' "$BINDING_CONTEXT_PATH"
jq -c '.[] | {action: "add", name: "changes", value: 1, labels: {name: .object.metadata.name}}' \
  "$BINDING_CONTEXT_PATH" >"$METRICS_PATH"
