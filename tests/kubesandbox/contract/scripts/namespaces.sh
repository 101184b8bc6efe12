# says: namespace/$X created
kubectl create namespace $X
kubectl get namespace $X
kubectl get ns $X -o jsonpath='{.status.phase} {.metadata.labels}{"\n"}'
kubectl create configmap a --namespace=$X
kubectl get configmap --namespace=$X a
kubectl create namespace $X
kubectl create configmap a --namespace=$X-none
kubectl get configmap --namespace=$X-none
kubectl delete namespace $X --wait=false
