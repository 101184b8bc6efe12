#!/usr/bin/env bash
if [[ $1 == --config ]]; then
  cat <<EOF
configVersion: v1
kubernetes:
- &node {name: one, kind: Node, jqFilter: .spec, nameSelector: {matchNames: [a]}}
- {<<: *node, name: two}
EOF
else
  cat <<EOF
operation: Delete
operation: Delete
EOF
fi
