# says: configmaps
for group in "" apps batch rbac.authorization.k8s.io networking.k8s.io policy storage.k8s.io coordination.k8s.io apiextensions.k8s.io; do
  kubectl api-resources --api-group="$group" --no-headers --sort-by=name | grep -v '^\(bindings\|componentstatuses\) '
done
kubectl api-resources --namespaced=false --api-group=apps
kubectl api-resources --verbs=list,get --categories=all --no-headers --api-group=apps
kubectl api-resources --api-group=apps -o wide --no-headers
kubectl api-versions | grep -x 'v1\|apps/v1\|batch/v1\|policy/v1\|storage.k8s.io/v1'
