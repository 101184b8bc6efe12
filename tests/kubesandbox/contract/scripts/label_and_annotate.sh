# says: configmap/$X labeled
kubectl create configmap $X
kubectl label configmap $X a=b c=d
kubectl label configmap $X a=other
kubectl label configmap $X a=other --overwrite
kubectl label configmap $X c-
kubectl label configmap $X 'bad key=x'
kubectl annotate configmap $X note='hello world'
kubectl label configmap $X g=h --resource-version=1
kubectl get configmap $X --show-labels
kubectl get configmap -l 'a in (other),!c' -L a
