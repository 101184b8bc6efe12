# says: configmap/$X-b
kubectl create configmap $X-a
kubectl label configmap $X-a case=$X
: > seen
command kubectl --namespace $NS get configmap -l case=$X -w --no-headers --output-watch-events > seen 2> /dev/null &
until [ "$(wc -l < seen)" -ge 1 ]; do sleep 0.05; done
kubectl create configmap $X-b
kubectl label configmap $X-b case=$X
until [ "$(wc -l < seen)" -ge 2 ]; do sleep 0.05; done
kubectl label configmap $X-a case-
until [ "$(wc -l < seen)" -ge 3 ]; do sleep 0.05; done
kubectl delete configmap $X-b
until [ "$(wc -l < seen)" -ge 4 ]; do sleep 0.05; done
kill %1
cat seen
