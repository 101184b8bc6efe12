#!/bin/sh
cat <<'CONFIG'
configVersion: v1
settings: {queues: {mirrors: {concurrency: 5, orderBy: object}}}
kubernetes:
- {name: nodes, kind: Node, queue: mirror}
CONFIG
