#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetes:
- {name: nodes, kind: Node, group: all}
- {name: zones, kind: Namespace, group: all}
CONFIG
  exit
fi
jq -r '.[].snapshots.nodes | length' "$BINDING_CONTEXT_PATH"
