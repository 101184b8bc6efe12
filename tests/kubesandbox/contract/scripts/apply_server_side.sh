# says: Apply failed with 1 conflict
cat > map.yaml <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: $X}
data: {a: "1"}
END
kubectl apply --server-side -f map.yaml
sed -i 's/a: "1"/a: "2"/' map.yaml
kubectl apply --server-side --field-manager=other -f map.yaml
kubectl apply --server-side --field-manager=other --force-conflicts -f map.yaml
kubectl get configmap $X --show-managed-fields -o jsonpath='{range .metadata.managedFields[*]}{.manager} {.operation} {.fieldsV1}{"\n"}{end}'
kubectl diff --server-side -f map.yaml
