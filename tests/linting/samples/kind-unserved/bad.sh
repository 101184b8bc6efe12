#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {apiVersion: extensions/v1beta1, kind: DaemonSet, jqFilter: .metadata.name}
CONFIG
