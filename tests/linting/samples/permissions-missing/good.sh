#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
settings:
  permissions:
  - {apiGroups: [""], resources: [pods], verbs: [get, list, watch, delete], namespaces: [default]}
schedule:
- crontab: "0 4 * * *"
CONFIG
  exit
fi
kubectl --namespace default delete pods --field-selector status.phase=Failed
