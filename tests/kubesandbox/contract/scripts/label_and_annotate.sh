# says: configmap/$X labeled
kubectl create configmap $X
kubectl label configmap $X a=b c=d
kubectl label configmap $X a=other
kubectl label configmap $X a=other --overwrite
kubectl label configmap $X c-
kubectl label configmap $X none-
kubectl label configmap $X 'bad key=x'
kubectl annotate configmap $X note='hello world'
kubectl annotate configmap $X note-
kubectl label configmap $X e=f --dry-run=server
kubectl label configmap $X g=h --resource-version=1
kubectl get configmap $X --show-labels
kubectl get configmap -l a=other -o name
kubectl get configmap -l 'a in (other),!c' -L a
kubectl label configmap -l a=other all=yes
kubectl get configmap -l all=yes -o jsonpath='{.items[*].metadata.name}{"\n"}'
