#!/usr/bin/env bash
# What a hook may do in the life of its module, and by a schedule. Needs jq.
# shellcheck disable=SC2016 # $namespace is a variable of jq
set -euo pipefail

if [[ ${1:-} == --config ]]; then
  cat <<'EOF'
configVersion: v1
onStartup: 10           # once, when the module is turned on; lower numbers first
beforeHelm: 10          # in each run of the module, before its chart is rendered
afterHelm: 10           # ... and when its objects are applied
beforeDeleteHelm: 10    # when it is turned off, before its release is removed
afterDeleteHelm: 10     # ... and last of all
schedule:
- name: hourly
  crontab: "0 * * * *"
settings:
  timeout: 1m
  permissions:          # what `hookrunner rbac` grants for it; no rule can limit `create` to a name
  - {apiGroups: [""], resources: [configmaps], verbs: [create]}
  - {apiGroups: [""], resources: [configmaps], verbs: [get, update, delete], resourceNames: [hello-world-visits]}
EOF
  exit 0
fi

visits() { # an object that is in no chart: $1 is what is done with it
  jq -cn --arg namespace "${HOOKRUNNER_NAMESPACE:-default}" "$1" > "$KUBERNETES_PATCH_PATH"
}

case $(jq -r 'last.binding' "$BINDING_CONTEXT_PATH") in
  onStartup)
    # A change of what users have set, kept in the ConfigMap: what counts is what they see there.
    if jq -e '.helloWorld.greeting == "hello"' "$CONFIG_VALUES_PATH" > /dev/null; then
      echo '{"op": "add", "path": "/helloWorld/greeting", "value": "Hello"}' > "$CONFIG_VALUES_JSON_PATCH_PATH"
    fi
    ;;
  beforeHelm)
    # A change of values in memory, for templates. Values are read at $VALUES_PATH.
    jq -c '{op: "add", path: "/helloWorld/internal/title", value: (.helloWorld.greeting | ascii_upcase)}' \
      "$VALUES_PATH" > "$VALUES_JSON_PATCH_PATH"
    ;;
  afterHelm)
    # Metrics are shown at /metrics/hooks.
    jq -c '{name: "hello_greetings", action: "set", value: (.helloWorld.internal.greetings | length)}' \
      "$VALUES_PATH" > "$METRICS_PATH"
    ;;
  hourly)
    # Changes of objects; docs/hooks.md has all operations.
    visits '{operation: "CreateOrUpdate", object: {apiVersion: "v1", kind: "ConfigMap",
      metadata: {name: "hello-world-visits", namespace: $namespace}, data: {last: (now | todate)}}}'
    ;;
  beforeDeleteHelm)
    echo "hello-world says goodbye" # standard output and standard error are in the log
    ;;
  afterDeleteHelm)
    visits '{operation: "Delete", kind: "ConfigMap", namespace: $namespace, name: "hello-world-visits"}'
    ;;
esac
