# says: configmap "$X-a" deleted
for n in a b c; do echo "---
{apiVersion: v1, kind: ConfigMap, metadata: {name: $X-$n, labels: {case: $X}}}"; done | kubectl create -f -
kubectl delete configmap $X-a
kubectl delete configmap $X-a
kubectl delete configmap $X-a --ignore-not-found
kubectl delete configmap $X-b --dry-run=server
kubectl delete configmap -l case=$X
kubectl delete configmap -l case=$X
kubectl create configmap $X-held
kubectl patch configmap $X-held --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'
kubectl delete configmap $X-held --wait=false
kubectl delete configmap $X-held --timeout=1s
kubectl patch configmap $X-held --type=merge -p '{"metadata":{"finalizers":null}}'
kubectl get configmap $X-held
kubectl create deployment $X --image=busybox --replicas=0
kubectl delete deployment $X --cascade=foreground
