# says: FIELDS
kubectl explain configmap
kubectl explain pod.spec.containers.livenessProbe
kubectl explain nonsense
kubectl explain pod.spec.nonsense
