#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetes:
- {name: nodes, kind: Node, group: all, includeSnapshotsFrom: [zones]}
- {name: zones, kind: Namespace, executeHookOnEvent: [], executeHookOnSynchronization: false}
CONFIG
  exit
fi
jq -r '.[].snapshots.nodes | length' "$BINDING_CONTEXT_PATH"
