#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {kind: Deployment, jqFilter: '{name: .metadata.name, version: .metadata.resourceVersion}'}
CONFIG
