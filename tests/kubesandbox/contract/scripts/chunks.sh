# says: $X-3
for n in 1 2 3; do echo "---
{apiVersion: v1, kind: ConfigMap, metadata: {name: $X-$n, labels: {case: $X}}}"; done > maps.yaml
kubectl create -f maps.yaml
kubectl get configmap -l case=$X --chunk-size=1
kubectl get -f maps.yaml -o name
kubectl delete -f maps.yaml
