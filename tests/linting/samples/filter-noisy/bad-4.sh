#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {kind: Deployment, jqFilter: 'del(.metadata.managedFields)'}
CONFIG
