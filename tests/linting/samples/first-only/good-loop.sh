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
# Only the first one says whether ...: .[0]
type=$(jq -r '.[0].type' "$BINDING_CONTEXT_PATH")
for ((i = 0; i < $(jq length "$BINDING_CONTEXT_PATH"); i++)); do
  echo "$type $(jq -r ".[$i].type" "$BINDING_CONTEXT_PATH")"
done
