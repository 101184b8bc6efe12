#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
settings: {onReviewPatches: refuse}
kubernetesValidating:
- name: policy.example.com
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [services], operations: [CREATE]}]
CONFIG
  exit
fi
echo "{operation: Delete, kind: Secret, namespace: default, name: old}" > "$KUBERNETES_PATCH_PATH"
echo "{\"allowed\": true}" > "$VALIDATING_RESPONSE_PATH"
