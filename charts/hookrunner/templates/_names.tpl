{{- define "hookrunner.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "hookrunner.account" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "hookrunner.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "hookrunner.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "hookrunner.labels" -}}
{{ include "hookrunner.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "hookrunner.webhooks" -}}
{{ include "hookrunner.name" . | trunc 54 | trimSuffix "-" }}-webhooks
{{- end }}

{{- define "hookrunner.webhooks.secret" -}}
{{ .Values.webhooks.secretName | default (printf "%s-certs" (include "hookrunner.webhooks" .)) }}
{{- end }}

{{- /* The file of CAs whose clients are let in; empty if everybody is. */}}
{{- define "hookrunner.webhooks.clientCA" -}}
{{ $ca := .Values.webhooks.clientCA }}
{{- if or $ca.configMap $ca.secret }}/client-ca/{{ $ca.key }}{{ else }}{{ get .Values.settings "validating-webhook-client-ca" }}{{ end }}
{{- end }}

{{- /* Names of cluster-wide objects hold the namespace, so that two releases do not fight over one. */}}
{{- define "hookrunner.clusterwide" -}}
{{ .Release.Namespace }}-{{ include "hookrunner.name" . }}
{{- end }}

{{- /* A role with these rules, of this name, and its binding to the account: of the namespace, or without one of the
cluster. */}}
{{- define "hookrunner.role" -}}
{{- $prefix := ternary "" "Cluster" (not (empty .namespace)) }}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $prefix }}Role
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "hookrunner.labels" .root | nindent 4 }}
rules: {{- toYaml .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $prefix }}RoleBinding
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "hookrunner.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $prefix }}Role
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "hookrunner.account" .root }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}

{{- /* The name in the cluster: the program adds a suffix to the setting where its predecessor did. */}}
{{- define "hookrunner.webhooks.configuration" -}}
{{ get .Values.settings "validating-webhook-configuration-name" | default (include "hookrunner.clusterwide" .) }}{{ if eq (get .Values.settings "compat") "shell-operator" }}-hooks{{ end }}
{{- end }}

{{- define "hookrunner.modules.config" -}}
{{ get .Values.settings "config-map" | default (eq (get .Values.settings "compat") "addon-operator" | ternary "addon-operator" "hookrunner") }}
{{- end }}
