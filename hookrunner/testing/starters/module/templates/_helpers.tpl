{{- /* For the metadata of objects, and what selects Pods. */ -}}
{{- define "hello-world.labels" -}}
app.kubernetes.io/name: hello-world
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
