#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- kind: Lease
  namespace: {nameSelector: {matchNames: [kube-node-lease]}}
  jqFilter: |
    {name: .metadata.name, spec}
CONFIG
