#!/bin/sh
# An unknown key, a crontab that cannot be read, a filter that does not compile: all of them are told at once.
cat <<'CONFIG'
configVersion: v1
kubernetes:
- kind: Pod
  labelSelector: {matchLabels: {app: web}}
  jqFiltre: .metadata.name
schedule:
- crontab: "61 * * * *"
CONFIG
