# says: $X-3
for n in 1 2 3; do echo "---
{apiVersion: v1, kind: ConfigMap, metadata: {name: $X-$n, labels: {case: $X}}}"; done > maps.yaml
kubectl create -f maps.yaml
kubectl get configmap -l case=$X --chunk-size=1
kubectl get configmap -l case=$X --chunk-size=0 -o name
kubectl get configmap -l case=$X --sort-by=.metadata.name -o name
kubectl get -f maps.yaml -o name
kubectl get --raw "/api/v1/namespaces/$NS/configmaps?labelSelector=case%3D$X&limit=2" | grep -o '"remainingItemCount":[0-9]*\|"name":"[^"]*"'
kubectl get --raw /api/v1/nothing
kubectl get --raw /nothing
kubectl delete -f maps.yaml
