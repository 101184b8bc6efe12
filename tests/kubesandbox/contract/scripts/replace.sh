# says: configmap/$X replaced
kubectl create configmap $X --from-literal=a=1
kubectl create configmap $X --from-literal=a=2 --dry-run=client -o yaml | kubectl replace -f -
kubectl get configmap $X -o yaml | sed 's/a: "2"/a: "3"/' > map.yaml
kubectl replace -f map.yaml
kubectl replace -f map.yaml
kubectl get configmap $X -o jsonpath='{.data.a}{"\n"}'
kubectl create configmap $X-none --dry-run=client -o yaml | kubectl replace -f -
kubectl create configmap $X --from-literal=a=4 --dry-run=client -o yaml | kubectl replace --force -f -
