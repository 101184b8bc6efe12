# says: FIELDS
kubectl explain configmap
kubectl explain pod.spec.containers.livenessProbe
kubectl explain deployment.spec.strategy --recursive
kubectl explain nonsense
kubectl explain pod.spec.nonsense
kubectl explain cronjobs.spec.schedule
