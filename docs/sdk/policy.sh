#!/usr/bin/env bash
if [[ ${1:-} == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetesValidating:
- name: teams.example.com
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [namespaces], operations: [CREATE]}]
  failurePolicy: Ignore
CONFIG
  exit
fi
jq -c '.[0].review.request.object.metadata.labels.team // "" | if . == "" then
  {allowed: false, message: "a Namespace needs a label `team`", code: 422} else {allowed: true} end' \
  "$BINDING_CONTEXT_PATH" >"$VALIDATING_RESPONSE_PATH"
