#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {kind: po, jqFilter: .metadata.labels}
CONFIG
