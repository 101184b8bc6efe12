#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetesValidating:
- name: policy.example.com
  rules: [{apiGroups: [apps], apiVersions: [v1], resources: [Deployment], operations: [CREATE]}]
CONFIG
  exit
fi
jq '.[0].review.request.object.metadata | {allowed: (.name != "bad")}' "$BINDING_CONTEXT_PATH" > "$VALIDATING_RESPONSE_PATH"
