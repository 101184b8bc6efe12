# says: deployment.apps/$X paused
kubectl create deployment $X --image=busybox:1 --replicas=0
kubectl rollout pause deployment $X
kubectl rollout pause deployment $X
kubectl rollout resume deployment $X
kubectl rollout restart deployment $X
kubectl get deployment $X -o jsonpath='{.spec.template.metadata.annotations}{"\n"}'
kubectl expose deployment $X --port=80
kubectl get service $X -o jsonpath='{.spec.selector} {.spec.ports}{"\n"}'
