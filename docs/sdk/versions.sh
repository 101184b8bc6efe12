#!/usr/bin/env bash
if [[ ${1:-} == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetesCustomResourceConversion:
- name: doors.example.com
  crdName: doors.example.com
  conversions:
  - {fromVersion: v1, toVersion: v2}
  - {fromVersion: v2, toVersion: v1}
CONFIG
  exit
fi
jq -c '.[0] | .toVersion as $to | {convertedObjects: [.review.request.objects[]
  | .apiVersion = "example.com/\($to)"
  | if $to == "v2" then .spec = {colour: .spec.color} else .spec = {color: .spec.colour} end]}' \
  "$BINDING_CONTEXT_PATH" >"$CONVERSION_RESPONSE_PATH"
