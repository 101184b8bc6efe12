#!/usr/bin/env bash
source "$(hookrunner shell-lib)"
__config__() {
  cat <<'CONFIG'
configVersion: v1
kubernetesCustomResourceConversion:
- name: up
  crdName: crontabs.example.com
  conversions: [{fromVersion: v1, toVersion: v2}, {fromVersion: v2, toVersion: v1}]
CONFIG
}
__on_conversion::up::v1::v2() {
  context::jq '{convertedObjects: .review.request.objects}' > "$CONVERSION_RESPONSE_PATH"
}
hook::run "$@"
