# says: condition met
kubectl create configmap $X --from-literal=a=1
kubectl wait configmap/$X --for=jsonpath='{.data.a}'=1
kubectl wait configmap/$X --for=jsonpath='{.data.a}'=2 --timeout=1s
kubectl wait configmap/$X --for=create
kubectl delete configmap $X --wait=false
kubectl wait configmap/$X --for=delete --timeout=5s
kubectl wait configmap/$X --for=condition=Ready --timeout=1s
kubectl create -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: $X}
spec: {schedulerName: nobody, containers: [{name: a, image: busybox}]}
END
kubectl patch pod $X --subresource=status --type=merge -p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
kubectl wait pod/$X --for=condition=Ready --timeout=5s
kubectl wait pod/$X --for=condition=Ready=false --timeout=1s
kubectl get pod $X
