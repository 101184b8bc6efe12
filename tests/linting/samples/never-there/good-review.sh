#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetes:
- {name: pods, kind: Pod, keepFullObjectsInMemory: false, executeHookOnEvent: [], executeHookOnSynchronization: false}
kubernetesValidating:
- name: policy.example.com
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [services], operations: [CREATE]}]
  includeSnapshotsFrom: [pods]
CONFIG
  exit
fi
jq '.[0].review.request | .object, "snapshots"' "$BINDING_CONTEXT_PATH"
jq '.[0].snapshots.pods | {allowed: (length < 10)}' "$BINDING_CONTEXT_PATH" > "$VALIDATING_RESPONSE_PATH"
