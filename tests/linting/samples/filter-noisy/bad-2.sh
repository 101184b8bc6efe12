#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {kind: Deployment, jqFilter: '.metadata'}
CONFIG
