#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {name: nodes, kind: Node, executeHookOnEvent: [], executeHookOnSynchronization: false, includeSnapshotsFrom: [nodes]}
schedule:
- {crontab: "@hourly"}
CONFIG
