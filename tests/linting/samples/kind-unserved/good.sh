#!/bin/sh
cat <<'CONFIG'
configVersion: v1
kubernetes:
- {apiVersion: apps/v1, kind: daemonsets, jqFilter: .metadata.name}
- {apiVersion: autoscaling/v1, kind: hpa, jqFilter: .metadata.name}
- {apiVersion: serving.knative.dev/v1, kind: Service, jqFilter: .metadata.name}
- {kind: Certificate, jqFilter: .metadata.name}
CONFIG
