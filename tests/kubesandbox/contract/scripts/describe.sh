# says: Name: $X
kubectl create configmap $X --from-literal=a=1
kubectl describe configmap $X
kubectl describe namespace $NS | head -3
kubectl describe configmap $X-none
