#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<CONFIG
configVersion: v1
kubernetes:
- name: namespaces
  kind: Namespace
  group: all
schedule:
- {name: hourly, crontab: "@hourly", group: all}
CONFIG
  exit
fi
# Of one group only the last context stays.
jq -r '.[0].snapshots.namespaces[].object.metadata.name' "$BINDING_CONTEXT_PATH"
