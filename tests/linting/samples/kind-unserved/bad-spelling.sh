#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {apiVersion: apps/v1, kind: Deploymnt, jqFilter: .metadata.name}
CONFIG
