# says: configmap/$X created
kubectl create configmap $X --from-literal=a=1 --from-literal=b=2
kubectl get configmap $X
kubectl get cm/$X -o yaml
kubectl get configmap $X -o custom-columns=NAME:.metadata.name,A:.data.a
kubectl create configmap $X --from-literal=a=1
kubectl get configmap $X-none
kubectl get nonsense
