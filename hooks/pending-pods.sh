#!/usr/bin/env bash
# Reports pods that have been Pending for more than PENDING_PODS_MINUTES (1) at /metrics/hooks, each with its seconds:
#
#   pods_pending_seconds{namespace="shop",pod="web-0",reason="Unschedulable"} 754
#
# An alert may then say: pods_pending_seconds > 600. What is no longer Pending is gone from there within a minute.
set -euo pipefail

if [[ ${1:-} == --config ]]; then
  command -v jq >/dev/null || { echo "jq is missing: install it, or take this hook away" >&2; exit 1; }
  cat <<'EOF'
configVersion: v1
schedule:
- name: minutely
  crontab: "* * * * *"
  includeSnapshotsFrom: [pending]
kubernetes:
- name: pending
  kind: Pod
  executeHookOnEvent: []
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  fieldSelector: {matchExpressions: [{field: status.phase, operator: Equals, value: Pending}]}
  jqFilter: |
    {namespace: .metadata.namespace, name: .metadata.name, since: .metadata.creationTimestamp,
     conditions: .status.conditions}
EOF
  exit
fi

# All series of the group go before the new ones come: nothing stays of pods that run by now.
echo '{"action": "expire", "group": "pending-pods"}' >"$METRICS_PATH"
jq --compact-output --arg minutes "${PENDING_PODS_MINUTES:-1}" '
  .[-1].snapshots.pending[].filterResult
  | (now - (.since | fromdate) | floor) as $seconds
  | select($seconds > ($minutes | tonumber) * 60)
  | ([.conditions[]? | select(.type == "PodScheduled" and .status == "False").reason][0] // "Starting") as $reason
  | {name: "pods_pending_seconds", action: "set", group: "pending-pods", value: $seconds,
     labels: {namespace, pod: .name, reason: $reason}}
' "$BINDING_CONTEXT_PATH" >>"$METRICS_PATH"
jq --raw-output 'select(.labels) | "\(.labels.namespace)/\(.labels.pod) is pending for \(.value / 60 | floor) minutes: \(.labels.reason)"' \
  "$METRICS_PATH"
