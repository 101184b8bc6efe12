# says: deployment.apps/$X created
kubectl create deployment $X --image=busybox --replicas=0
kubectl create secret generic $X --from-literal=password=secret
kubectl get secret $X -o jsonpath='{.data.password}{"\n"}'
kubectl create role $X --verb=get,list --resource=pods,configmaps
kubectl create rolebinding $X --role=$X --serviceaccount=$NS:$X
kubectl get role,rolebinding,sa $X
kubectl create cronjob $X --image=busybox --schedule="0 0 1 1 *"
kubectl get deployment,secret,cronjob,ingress,pdb $X -o name
kubectl create role $X-bad --verb=get --resource=nonsense
