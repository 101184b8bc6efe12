#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<'CONFIG'
configVersion: v1
schedule:
- crontab: "0 4 * * *"
CONFIG
  exit
fi
kubectl --namespace default delete pods --field-selector status.phase=Failed
