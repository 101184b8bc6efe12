#!/usr/bin/env bash
if [[ $1 == --config ]]; then
cat <<EOF
configVersion: v1
kubernetes:
- {name: tick, crontab: "*/5 * * * *", kind: Node}
kubernetes:
- name: nodes
  kind: Node
  jqFilter: .spec
EOF
fi
