#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {name: nodes, kind: Node, executeHookOnEvent: [], queue: "slow"}
CONFIG
