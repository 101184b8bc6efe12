# says: configmap/$X patched (no change)
kubectl create configmap $X --from-literal=a=1
kubectl patch configmap $X -p '{"data":{"b":"2"}}'
kubectl patch configmap $X --type=merge -p '{"data":{"a":null}}'
kubectl patch configmap $X --type=json -p '[{"op":"add","path":"/data/c","value":"3"}]'
kubectl patch configmap $X --type=json -p '[{"op":"test","path":"/data/c","value":"9"}]'
kubectl patch configmap $X --type=merge -p '{"data":{"b":"2"}}'
kubectl patch configmap $X --type=merge -p '{"metadata":{"resourceVersion":"1"}}'
kubectl get configmap $X -o jsonpath='{.data}{"\n"}'
kubectl patch configmap $X-none -p '{}'
kubectl patch configmap $X --type=merge -p '{"data":[]}'
kubectl create deployment $X --image=busybox --replicas=0
kubectl patch deployment $X --subresource=status --type=merge -p '{"status":{"replicas":1,"readyReplicas":1}}' -o jsonpath='{.status.readyReplicas}{"\n"}'
kubectl patch deployment $X --type=strategic -p '{"spec":{"template":{"spec":{"containers":[{"name":"busybox","image":"busybox:2"}]}}}}'
