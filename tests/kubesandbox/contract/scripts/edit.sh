# says: configmap/$X edited
kubectl create configmap $X --from-literal=a=old
KUBE_EDITOR="sed -i s/old/new/" kubectl edit configmap $X
kubectl get configmap $X -o jsonpath='{.data.a}{"\n"}'
KUBE_EDITOR=true kubectl edit configmap $X
kubectl create deployment $X --image=busybox:1 --replicas=0
KUBE_EDITOR="sed -i s/busybox:1/busybox:2/" kubectl edit deployment $X
kubectl get deployment $X -o jsonpath='{.spec.template.spec.containers[0].image}{"\n"}'
