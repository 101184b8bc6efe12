{{- /* What the selectors use: the same as in the project's own manifest, so that its objects can be taken over. */ -}}
{{- define "ingress-nginx.selector" -}}
app.kubernetes.io/name: ingress-nginx
app.kubernetes.io/instance: ingress-nginx
app.kubernetes.io/component: controller
{{- end }}

{{- /* For the metadata of objects; the dictionary has the context as `root` and, if need be, more `annotations`. */ -}}
{{- define "ingress-nginx.metadata" -}}
labels:
  {{- include "ingress-nginx.selector" .root | nindent 2 }}
{{- $adopting := ternary (dict "hookrunner.io/adopt" "true") dict .root.Values.ingressNginx.adopt }}
{{- with merge $adopting (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
