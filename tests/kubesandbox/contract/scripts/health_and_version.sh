# says: ok
kubectl get --raw /version | grep -c gitVersion
kubectl get --raw /healthz
kubectl get --raw /readyz
