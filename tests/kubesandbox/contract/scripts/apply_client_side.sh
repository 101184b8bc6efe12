# says: configmap/$X unchanged
cat > map.yaml <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: $X, labels: {a: b}}
data: {keep: "1", drop: "2"}
END
kubectl apply -f map.yaml
kubectl apply -f map.yaml
sed -i 's/, drop: "2"//; s/keep: "1"/keep: "9"/' map.yaml
kubectl diff -f map.yaml | grep '^[-+] '
kubectl apply -f map.yaml
kubectl apply view-last-applied configmap $X
kubectl patch configmap $X --type=merge -p '{"data":{"other":"x"}}'
kubectl apply -f map.yaml
kubectl get configmap $X -o jsonpath='{.data}{"\n"}'
