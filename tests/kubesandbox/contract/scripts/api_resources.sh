# says: configmaps
groups='apps|batch|rbac.authorization.k8s.io|networking.k8s.io|policy|storage.k8s.io|coordination.k8s.io|apiextensions.k8s.io'
kubectl api-resources --no-headers --sort-by=name | grep -E " (v1|($groups)/v1) " | grep -v '^\(bindings\|componentstatuses\) '
kubectl api-resources --namespaced=false --api-group=apps
kubectl api-resources --verbs=list,get --categories=all --api-group=apps -o wide
kubectl api-versions | grep -x 'v1\|apps/v1\|batch/v1\|policy/v1\|storage.k8s.io/v1'
