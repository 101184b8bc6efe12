#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<CONFIG
configVersion: v1
kubernetes:
- name: namespaces
  kind: Namespace
  executeHookOnEvent: [Deleted]
CONFIG
  exit
fi
for ((i = 0; i < $(jq length "$BINDING_CONTEXT_PATH"); i++)); do
  event=$(jq -r ".[$i].watchEvent" "$BINDING_CONTEXT_PATH")
  if [[ $event == Deleted ]]; then
    jq -r ".[$i].object.metadata.name" "$BINDING_CONTEXT_PATH"
  fi
done
