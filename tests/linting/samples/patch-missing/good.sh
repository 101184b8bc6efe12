#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetesMutating:
- name: policy.example.com
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [services], operations: [CREATE]}]
CONFIG
  exit
fi
jq '{allowed: true, patch: [{op: "add", path: "/metadata/labels", value: {}}]}' "$BINDING_CONTEXT_PATH" > "$ADMISSION_RESPONSE_PATH"
