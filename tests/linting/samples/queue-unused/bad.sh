#!/bin/sh
cat <<'CONFIG'
configVersion: v1
schedule: [{crontab: "@hourly", includeSnapshotsFrom: [nodes]}]
kubernetes:
- {name: nodes, kind: Node, executeHookOnSynchronization: false, executeHookOnEvent: [], queue: nodes}
CONFIG
