# says: deployment.apps/$X configured
cat > d.yaml <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: $X}
spec:
  replicas: 0
  selector: {matchLabels: {app: $X}}
  template:
    metadata: {labels: {app: $X}}
    spec:
      containers:
      - {name: a, image: "busybox:1", env: [{name: A, value: "1"}, {name: B, value: "2"}]}
      - {name: b, image: "busybox:1"}
END
kubectl apply -f d.yaml
sed -i '/name: b,/d; s/, {name: B, value: "2"}//' d.yaml
kubectl apply -f d.yaml
kubectl get deployment $X -o jsonpath='{.spec.template.spec.containers[*].name} {.spec.template.spec.containers[0].env}{"\n"}'
kubectl set image deployment/$X a=busybox:2
kubectl set env deployment/$X C=3
kubectl apply -f d.yaml
kubectl get deployment $X -o jsonpath='{.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].env}{"\n"}'
kubectl scale deployment $X --replicas=0 --current-replicas=5
