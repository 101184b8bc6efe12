#!/bin/sh
if [ "$1" = --config ]; then
  echo 'configVersion: v1'
  echo 'onStartup: 1'
  exit
fi
# not: apiVersion: extensions/v1beta1, kind: Ingress
cat > kubeconfig <<'FILE'
apiVersion: v1
kind: Config
FILE
cat > "$KUBERNETES_PATCH_PATH" <<'PATCH'
{"operation": "Create", "subresource": "eviction", "apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "a",
 "object": {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}}
{"operation": "Delete", "kind": "deployment", "apiVersion": "apps/v1", "namespace": "default", "name": "a"}
PATCH
