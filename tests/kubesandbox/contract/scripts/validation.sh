# says: unknown field "spec.nonsense"
cat > d.yaml <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: $X}
spec:
  nonsense: 1
  replicas: 0
  selector: {matchLabels: {app: $X}}
  template: {metadata: {labels: {app: $X}}, spec: {containers: [{name: a, image: b, imagePolicy: c}]}}
END
kubectl apply -f d.yaml
kubectl apply --validate=warn -f d.yaml
kubectl apply --validate=ignore -f d.yaml
sed -i 's/replicas: 0/replicas: many/' d.yaml
kubectl apply -f d.yaml
cat > bad.yaml <<END
apiVersion: v1
kind: Service
metadata: {name: $X}
spec: {ports: [{port: 70000}]}
END
kubectl apply -f bad.yaml
echo 'kind: ConfigMap' | kubectl apply -f -
echo '{"apiVersion": "v1", "kind": "Nonsense", "metadata": {"name": "a"}}' | kubectl apply -f -
echo 'a: [' | kubectl apply -f -
