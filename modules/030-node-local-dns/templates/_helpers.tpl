{{- /* What the selectors use: the same as in the manifest of Kubernetes, so that its objects can be taken over. */ -}}
{{- define "node-local-dns.selector" -}}
k8s-app: node-local-dns
{{- end }}

{{- define "node-local-dns.labels" -}}
{{ include "node-local-dns.selector" . }}
app.kubernetes.io/name: node-local-dns
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* For the metadata of objects; the dictionary has the context as `root` and, if need be, more `annotations`. */ -}}
{{- define "node-local-dns.metadata" -}}
labels:
  {{- include "node-local-dns.labels" .root | nindent 2 }}
{{- $adopting := ternary (dict "hookrunner.io/adopt" "true") dict .root.Values.nodeLocalDns.adopt }}
{{- with merge $adopting (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "node-local-dns.proxyMode" -}}
{{- default .Values.nodeLocalDns.internal.proxyMode .Values.nodeLocalDns.proxyMode }}
{{- end }}

{{- define "node-local-dns.clusterIP" -}}
{{- $missing := "there is no Service kube-dns in kube-system to be a cache for: turn on coredns, or set nodeLocalDns.clusterIP" }}
{{- required $missing (default .Values.nodeLocalDns.internal.clusterIP .Values.nodeLocalDns.clusterIP) }}
{{- end }}

{{- /* The addresses that the cache answers on. That of the Service is its own, too, but for ipvs, which keeps it. */ -}}
{{- define "node-local-dns.addresses" -}}
{{- .Values.nodeLocalDns.localIP }}
{{- if ne (include "node-local-dns.proxyMode" .) "ipvs" }},{{ include "node-local-dns.clusterIP" . }}{{ end }}
{{- end }}

{{- /* A server block; the dictionary has the context as `root`, the `zone`, whether it is the cluster's, and `more`. */ -}}
{{- define "node-local-dns.server" -}}
{{- $own := .root.Values.nodeLocalDns -}}
{{ .zone }}:53 {
    errors
    cache {{ .cache | default (int $own.cacheSeconds) }}
    reload
    loop
    bind {{ include "node-local-dns.addresses" .root | replace "," " " }}
    forward . {{ .to }}{{ if and .ours $own.forceTCP }} {
        force_tcp
    }{{ end }}
    prometheus :9253
    {{- with .health }}
    health {{ . }}
    {{- end }}
}
{{- end }}
