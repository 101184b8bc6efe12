#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {name: a, kind: Node, jqFilter: '[.status.conditions[] | {type, status}]'}
- {name: b, kind: Deployment, jqFilter: '.spec, .metadata.labels'}
- {name: c, kind: Deployment, jqFilter: 'del(.metadata.managedFields, .metadata.resourceVersion)'}
- {name: d, kind: Deployment, jqFilter: ., executeHookOnEvent: [Added, Deleted]}
- {name: e, kind: Deployment, jqFilter: '.spec.template.spec.containers[] | error'}
CONFIG
