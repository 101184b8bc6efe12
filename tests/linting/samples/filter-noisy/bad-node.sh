#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {kind: nodes, jqFilter: .status}
CONFIG
