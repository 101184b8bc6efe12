#!/usr/bin/env bash
# Deletes Jobs, with their pods, an hour after they have finished. Look at their logs until then.
#
# JOBS_KEEP_MINUTES is another time for all of them, the annotation hookrunner.io/keep-minutes for one of them.
# Jobs that belong to something are left to it: a CronJob has its own history limits.
set -euo pipefail

if [[ ${1:-} == --config ]]; then
  command -v jq >/dev/null || { echo "jq is missing: install it, or take this hook away" >&2; exit 1; }
  cat <<'EOF'
configVersion: v1
settings:
  permissions:
  - {apiGroups: [batch], resources: [jobs], verbs: [delete]}
schedule:
- name: minutely
  crontab: "* * * * *"
  includeSnapshotsFrom: [jobs]
kubernetes:
- name: jobs
  apiVersion: batch/v1
  kind: Job
  executeHookOnEvent: []
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: |
    {namespace: .metadata.namespace, name: .metadata.name, keep: .metadata.annotations["hookrunner.io/keep-minutes"],
     owners: .metadata.ownerReferences, conditions: .status.conditions}
EOF
  exit
fi

# Several ticks in one run say the same: what counts is what there is now.
jq --compact-output --arg keep "${JOBS_KEEP_MINUTES:-60}" '
  .[-1].snapshots.jobs[].filterResult
  | select(.owners == null)
  | (.keep // "" | tonumber? // ($keep | tonumber)) as $minutes
  | [.conditions[]? | select(.status == "True" and (.type == "Complete" or .type == "Failed"))][0] as $ended
  | select($ended != null and ($ended.lastTransitionTime | fromdate) + $minutes * 60 < now)
  | {operation: "DeleteInBackground", apiVersion: "batch/v1", kind: "Job", namespace, name}
' "$BINDING_CONTEXT_PATH" >"$KUBERNETES_PATCH_PATH"
jq --raw-output '"\(.namespace)/\(.name) is deleted: it finished long ago"' "$KUBERNETES_PATCH_PATH"
