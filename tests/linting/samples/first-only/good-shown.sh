#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
kubernetes:
- {name: namespaces, kind: Namespace, executeHookOnSynchronization: false}
CONFIG
  exit
fi
jq . "$BINDING_CONTEXT_PATH"
jq "$BINDING_CONTEXT_PATH"
