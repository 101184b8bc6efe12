#!/usr/bin/env bash
source "$(hookrunner shell-lib)"
__config__() {
  cat <<'CONFIG'
configVersion: v1
kubernetesValidating:
- name: policy.example.com
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [services], operations: [CREATE]}]
CONFIG
}
__on_validating::policy() {
  echo '{"allowed": true}' > "$VALIDATING_RESPONSE_PATH"
}
hook::run "$@"
