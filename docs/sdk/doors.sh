#!/usr/bin/env bash
if [[ ${1:-} == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
settings:
  timeout: 30s
  queues: {doors: {concurrency: 20, orderBy: object}}
kubernetes:
- {name: close, apiVersion: example.com/v1, kind: Door, queue: doors, synchronizeEachObject: true}
CONFIG
  exit
fi
jq -c '[.[] | if .type == "Synchronization" then .objects[] else . end]
  | group_by([.object.metadata.namespace, .object.metadata.name])[] | last
  | select(.watchEvent != "Deleted" and .object.spec.open) | .object | {
  operation: "MergePatch", apiVersion, kind, name: .metadata.name, namespace: .metadata.namespace, mergePatch: {spec: {open: false}}
}' "$BINDING_CONTEXT_PATH" >"$KUBERNETES_PATCH_PATH"
[[ ! -s $KUBERNETES_PATCH_PATH ]] || echo 600 >"$RUN_AGAIN_PATH"
