#!/usr/bin/env bash
# Puts what the cluster shows into the module's values: the number of nodes, and the texts of Greetings. Needs jq.
#
# Hooks of a module are found below its `hooks` directory. They run while the module is on, and when they change its
# values, the chart is rendered again and what has changed is applied. Try it: hookrunner hook test modules/100-hello-world/hooks/cluster.sh
set -euo pipefail

if [[ ${1:-} == --config ]]; then
  cat <<'EOF'
configVersion: v1
kubernetes:
- name: nodes
  kind: Node
  # One task for all events: only how many there are is of interest.
  group: cluster
  jqFilter: .metadata.name
- name: greetings
  apiVersion: hello-world.example.com/v2   # of crds/
  kind: Greeting
  group: cluster
  jqFilter: .spec.lines // [] | join(" ")
EOF
  exit 0
fi

# The same with every event: `add` replaces what is there.
jq -c '
  last.snapshots
  | {op: "add", path: "/helloWorld/internal/nodes", value: (.nodes | length)},
    {op: "add", path: "/helloWorld/internal/greetings", value: [.greetings[].filterResult]}
' "$BINDING_CONTEXT_PATH" > "$VALUES_JSON_PATCH_PATH"
