#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {name: nodes, kind: Node, executeHookOnEvent: [], executeHookOnSynchronization: false}
- {name: zones, kind: Namespace, executeHookOnEvent: [], executeHookOnSynchronization: false, group: all}
- {name: maps, kind: Namespace, executeHookOnEvent: [], executeHookOnSynchronization: false}
schedule:
- {name: a, crontab: "@hourly", includeSnapshotsFrom: [nodes]}
- {name: b, crontab: "@hourly", group: all}
kubernetesValidating:
- name: policy.example.com
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [services], operations: [CREATE]}]
  includeSnapshotsFrom: [maps]
CONFIG
