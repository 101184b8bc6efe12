#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetesCustomResourceConversion:
- name: up
  crdName: crontabs.example.com
  conversions: [{fromVersion: v1, toVersion: v2}]
CONFIG
  exit
fi
jq '.[0].review.request | {convertedObjects: .objects}' "$BINDING_CONTEXT_PATH" > "$VALIDATING_RESPONSE_PATH"
