#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetes:
- {name: nodes, kind: Node}
CONFIG
  exit
fi
jq -r '.[] | .type, .snapshots.daily' "$BINDING_CONTEXT_PATH" # shared with hooks that have one
