# says: namespace/$X created
kubectl create namespace $X
kubectl get namespace $X
kubectl create configmap a --namespace=$X
kubectl create namespace $X
kubectl get configmap --namespace=$X-none
kubectl delete namespace $X --wait=false
