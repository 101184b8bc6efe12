{{- define "ingress-nginx.namespace" -}}ingress-nginx{{- end }}

{{- /* What the selectors use: the same as in the project's own manifests, so that its objects can be adopted. */ -}}
{{- define "ingress-nginx.selector" -}}
app.kubernetes.io/name: ingress-nginx
app.kubernetes.io/instance: ingress-nginx
app.kubernetes.io/component: controller
{{- end }}

{{- /* The beginning of an object; the dictionary has its `kind`, `apiVersion`, `name` and, if need be, `annotations`. */ -}}
{{- define "ingress-nginx.head" -}}
apiVersion: {{ .apiVersion }}
kind: {{ .kind }}
metadata:
  name: {{ .name | default "ingress-nginx" | quote }}
  {{- if not (or (hasPrefix "Cluster" .kind) (has .kind (list "Namespace" "IngressClass" "ValidatingWebhookConfiguration"))) }}
  namespace: {{ include "ingress-nginx.namespace" . }}
  {{- end }}
  labels:
    {{- include "ingress-nginx.selector" . | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- /* What an object of the kind says, with the defaults of its provider: annotations of the Service, settings of the
controller, the type of the Service, the number of Pods, and whether it takes the ports of its node. The providers are those
of the project's manifests (https://kubernetes.github.io/ingress-nginx/deploy/). */ -}}
{{- define "ingress-nginx.settings" -}}
{{- $own := .Values.ingressNginx }}
{{- $provider := get (include "ingress-nginx.providers" . | fromYaml) ($own.provider | default "cloud") | default dict }}
{{- $class := $own.ingressClass | default dict }}
annotations: {{ $provider.annotations | default dict | toJson }}
config: {{ merge dict ($own.config | default dict) ($provider.config | default dict) | toJson }}
serviceType: {{ $own.serviceType | default $provider.serviceType | default "LoadBalancer" }}
replicas: {{ $own.replicas | default $provider.replicas | default 2 | int }}
hostPorts: {{ $provider.hostPorts | default false }}
className: {{ $class.name | default "nginx" | quote }}
isDefaultClass: {{ hasKey $class "default" | ternary $class.default ($provider.hostPorts | default false) }}
{{- end }}

{{- define "ingress-nginx.providers" -}}
aws:
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-type: nlb
    service.beta.kubernetes.io/aws-load-balancer-backend-protocol: tcp
    service.beta.kubernetes.io/aws-load-balancer-cross-zone-load-balancing-enabled: "true"
baremetal: {serviceType: NodePort}
do:
  annotations: {service.beta.kubernetes.io/do-loadbalancer-enable-proxy-protocol: "true"}
  config: {use-proxy-protocol: "true"}
exoscale:
  annotations:
    service.beta.kubernetes.io/exoscale-loadbalancer-service-strategy: source-hash
    service.beta.kubernetes.io/exoscale-loadbalancer-service-healthcheck-mode: http
    service.beta.kubernetes.io/exoscale-loadbalancer-service-healthcheck-uri: /
kind: {serviceType: NodePort, replicas: 1, hostPorts: true}
oracle:
  annotations:
    service.beta.kubernetes.io/oci-load-balancer-shape: flexible
    service.beta.kubernetes.io/oci-load-balancer-shape-flex-min: "10"
    service.beta.kubernetes.io/oci-load-balancer-shape-flex-max: "100"
scw:
  annotations: {service.beta.kubernetes.io/scw-loadbalancer-proxy-protocol-v2: "true"}
  config: {use-proxy-protocol: "true"}
{{- end }}
