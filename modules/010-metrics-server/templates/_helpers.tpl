{{- /* What the selectors use: the same as in the project's own manifest, so that its objects can be taken over. */ -}}
{{- define "metrics-server.selector" -}}
k8s-app: metrics-server
{{- end }}

{{- define "metrics-server.labels" -}}
{{ include "metrics-server.selector" . }}
app.kubernetes.io/name: metrics-server
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* For the metadata of objects; the dictionary has the context as `root` and, if need be, more `labels`. */ -}}
{{- define "metrics-server.metadata" -}}
labels:
  {{- include "metrics-server.labels" .root | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- if .root.Values.metricsServer.adopt }}
annotations:
  hookrunner.io/adopt: "true"
{{- end }}
{{- end }}
