# says: configmap/$X patched (no change)
kubectl create configmap $X --from-literal=a=1
kubectl patch configmap $X -p '{"data":{"b":"2"}}'
kubectl patch configmap $X --type=json -p '[{"op":"add","path":"/data/c","value":"3"}]'
kubectl patch configmap $X --type=merge -p '{"data":{"b":"2"}}'
kubectl patch configmap $X --type=merge -p '{"metadata":{"resourceVersion":"1"}}'
kubectl get configmap $X -o jsonpath='{.data}{"\n"}'
kubectl patch configmap $X-none -p '{}'
kubectl create deployment $X --image=busybox --replicas=0
kubectl patch deployment $X --subresource=status --type=merge -p '{"status":{"replicas":1,"readyReplicas":1}}' -o jsonpath='{.status.readyReplicas}{"\n"}'
