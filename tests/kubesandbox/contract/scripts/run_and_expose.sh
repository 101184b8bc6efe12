# says: pod/$X created
kubectl run $X --image=busybox --overrides='{"spec":{"schedulerName":"nobody"}}'
kubectl get pod $X -o jsonpath='{.metadata.labels} {.spec.containers}{"\n"}'
kubectl expose pod $X --port=80
kubectl label pod $X run-
kubectl delete pod,service $X --now
kubectl cp a $X:/b
