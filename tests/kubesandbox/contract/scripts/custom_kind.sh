# says: customresourcedefinition.apiextensions.k8s.io/widgets.$GROUP condition met
cat > crd.yaml <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.$GROUP}
spec:
  group: $GROUP
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd$X]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}, {name: Phase, type: string, jsonPath: .status.phase}]
    schema:
      openAPIV3Schema:
        description: A widget.
        type: object
        required: [spec]
        properties:
          spec:
            description: What is wanted.
            type: object
            required: [size]
            properties: {size: {type: integer, minimum: 1, description: How large.}, color: {type: string, default: red}}
          status: {type: object, properties: {phase: {type: string}}}
END
kubectl apply -f crd.yaml
kubectl wait --for=condition=Established crd/widgets.$GROUP --timeout=10s
until command kubectl get --raw /apis/$GROUP/v1/widgets > /dev/null 2>&1; do sleep 0.1; done
cat > w.yaml <<END
apiVersion: $GROUP/v1
kind: Widget
metadata: {name: a}
spec: {size: 3}
END
kubectl apply -f w.yaml
kubectl get widgets.$GROUP
kubectl get wd$X a -o jsonpath='{.spec}{"\n"}'
sed -i 's/size: 3/size: 0/' w.yaml
kubectl apply -f w.yaml
sed -i 's/size: 0/wrong: 0/' w.yaml
kubectl apply -f w.yaml
kubectl delete widget.$GROUP a
kubectl delete crd widgets.$GROUP --wait=false
