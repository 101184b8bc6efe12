#!/usr/bin/env bash
if [[ ${1:-} == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetes:
- name: label
  apiVersion: v1
  kind: Namespace
  labelSelector: {matchExpressions: [{key: team, operator: Exists}]}
CONFIG
  exit
fi
# Several events of one object may be in a run; the last one counts.
jq -c '[.[] | if .type == "Synchronization" then .objects[] else . end]
  | group_by(.object.metadata.name)[] | last | select(.watchEvent != "Deleted") | {
  operation: "MergePatch", apiVersion: "v1", kind: "Namespace", name: .object.metadata.name,
  mergePatch: {metadata: {labels: {seen: "yes"}}}
}' "$BINDING_CONTEXT_PATH" >"$KUBERNETES_PATCH_PATH"
