#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {name: a, kind: Pod, jqFilter: .metadata.labels, keepFullObjectsInMemory: false}
- {name: b, kind: Pod, labelSelector: {matchLabels: {app: web}}}
- {name: c, kind: ConfigMap, nameSelector: {matchNames: [settings]}}
- {name: d, kind: Secret, namespace: {nameSelector: {matchNames: [default]}}}
- {name: e, kind: Event, fieldSelector: {matchExpressions: [{field: reason, operator: Equals, value: Failed}]}}
- {name: f, kind: Namespace}
CONFIG
