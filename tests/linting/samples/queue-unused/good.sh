#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {name: a, kind: Node, executeHookOnEvent: [Added], executeHookOnSynchronization: false, queue: slow}
- {name: b, kind: Node, executeHookOnEvent: [], waitForSynchronization: false, queue: slow}
CONFIG
