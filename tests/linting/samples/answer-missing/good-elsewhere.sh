#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetesValidating:
- name: policy.example.com
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [services], operations: [CREATE]}]
CONFIG
  exit
fi
"$(dirname "$0")"/policy.py < "$BINDING_CONTEXT_PATH"
