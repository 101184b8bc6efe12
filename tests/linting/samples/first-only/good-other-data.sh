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
kubectl get pods -o json | jq '.items[0], .[0]'
jq -r '.[] | .type' "$BINDING_CONTEXT_PATH"
