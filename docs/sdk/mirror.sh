#!/usr/bin/env bash
if [[ ${1:-} == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
settings:
  queues: {mirrors: {concurrency: 10, orderBy: object}}
kubernetes:
- name: mirror
  apiVersion: v1
  kind: ConfigMap
  labelSelector: {matchLabels: {mirror: "yes"}}
  queue: mirrors
  synchronizeEachObject: true
CONFIG
  exit
fi
# A run is about one object: of an event, or of the start.
source=$(jq -c '.[] | if .type == "Synchronization" then .objects[] else select(.watchEvent != "Deleted") end | .object' \
  "$BINDING_CONTEXT_PATH")
[[ -n $source ]] || exit 0 # its copy is deleted with it
if [[ $(jq '.data | length' <<<"$source") == 0 ]]; then
  jq -r '"\(.metadata.namespace)/\(.metadata.name) has no data to copy"' <<<"$source" >&2
  exit 1
fi
jq -c '.metadata as $of | {operation: "Apply", object: {apiVersion, kind, data, metadata: {
  name: "\($of.name)-copy", namespace: $of.namespace, ownerReferences: [{apiVersion, kind, name: $of.name, uid: $of.uid}]
}}}' <<<"$source" >"$KUBERNETES_PATCH_PATH"
