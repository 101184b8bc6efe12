#!/usr/bin/env bash
source "$(hookrunner shell-lib)"
__config__() {
  cat <<'CONFIG'
configVersion: v1
kubernetesMutating:
- name: policy.example.com
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [services], operations: [CREATE]}]
kubernetesCustomResourceConversion:
- name: up
  crdName: crontabs.example.com
  conversions: [{fromVersion: v1, toVersion: v2}]
CONFIG
}
__on_mutating::policy.example.com() {
  context::jq '{allowed: true, patch: [{op: "add", path: "/metadata/labels", value: {}}]}' > "$ADMISSION_RESPONSE_PATH"
}
__on_conversion::up::v1::v2() {
  context::jq '{convertedObjects: .review.request.objects}' > "$CONVERSION_RESPONSE_PATH"
}
hook::run "$@"
