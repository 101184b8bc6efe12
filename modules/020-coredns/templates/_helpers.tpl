{{- /* What the selectors use: the same as kubeadm's, so that its objects can be taken over. */ -}}
{{- define "coredns.selector" -}}
k8s-app: kube-dns
{{- end }}

{{- define "coredns.labels" -}}
{{ include "coredns.selector" . }}
app.kubernetes.io/name: coredns
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* For the metadata of objects; the dictionary has the context as `root` and, if need be, more `annotations`. */ -}}
{{- define "coredns.metadata" -}}
labels:
  {{- include "coredns.labels" .root | nindent 2 }}
{{- $adopting := ternary (dict "hookrunner.io/adopt" "true") dict .root.Values.coredns.adopt }}
{{- with merge $adopting (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
