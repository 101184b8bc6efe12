#!/bin/sh
if [ "$1" = --config ]; then
  echo 'configVersion: v1'
  echo 'onStartup: 1'
  exit
fi
cat > "$KUBERNETES_PATCH_PATH" <<'PATCH'
operation: CreateOrUpdate
object:
  apiVersion: policy/v1beta1
  kind: PodDisruptionBudget
  metadata: {name: a, namespace: default}
PATCH
