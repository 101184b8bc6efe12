#!/bin/sh
cat <<'CONFIG'
configVersion: v1
onStartup: 1
kubernetes:
- {name: nodes, kind: Node, executeHookOnSynchronization: false, executeHookOnEvent: [], queue: nodes}
CONFIG
