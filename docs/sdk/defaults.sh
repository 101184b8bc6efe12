#!/usr/bin/env bash
if [[ ${1:-} == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetesMutating:
- name: defaults.example.com
  rules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE]}]
  namespace: {labelSelector: {matchLabels: {defaults: "yes"}}}
CONFIG
  exit
fi
jq -c '{allowed: true, patch: [.[0].review.request.object.spec | select(.replicas == null)
  | {op: "add", path: "/spec/replicas", value: 2}]}' "$BINDING_CONTEXT_PATH" >"$ADMISSION_RESPONSE_PATH"
