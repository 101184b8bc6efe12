# says: NAME
kubectl create -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: $X, labels: {case: $X}}
spec: {schedulerName: nobody, containers: [{name: a, image: busybox}]}
END
kubectl get pod $X
kubectl get pod $X -o wide
kubectl get pods,configmaps -l case=$X
kubectl get pod --field-selector status.phase=Pending,metadata.name=$X -o name
kubectl get pod --field-selector nonsense=1
kubectl get pods -l case=none
kubectl get all -l case=$X
kubectl delete pod $X --grace-period=0 --force
