# says: serverside-applied
cat > map.yaml <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: $X}
data: {a: "1", b: "2"}
END
kubectl apply -f map.yaml
sed -i 's/, b: "2"//' map.yaml
kubectl apply --server-side -f map.yaml
kubectl get configmap $X --show-managed-fields -o jsonpath='{range .metadata.managedFields[*]}{.manager} {.operation}{"\n"}{end}'
