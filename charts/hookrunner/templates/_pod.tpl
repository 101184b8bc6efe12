{{- /* Fails if another release in this namespace has modules or addons too: both would keep the same records of releases,
and purge what the other one has installed. */}}
{{- define "hookrunner.checkAlone" -}}
{{- if or .Values.modules.enabled .Values.addons.enabled }}
{{- range (lookup "apps/v1" "Deployment" .Release.Namespace "").items }}
{{- $labels := .metadata.labels | default dict }}
{{- $other := get $labels "app.kubernetes.io/instance" }}
{{- if and (eq (get $labels "app.kubernetes.io/name" | default "") $.Chart.Name) (ne $other $.Release.Name) }}
{{- range (first .spec.template.spec.containers).env }}
{{- if or (and (eq .name "HOOKRUNNER_MODULES_DIR") (ne (get . "value" | default "") ":")) (eq .name "HOOKRUNNER_ADDONS_DIR") }}{{ fail (printf "release '%s' in namespace '%s' has modules or addons too, and both would keep the same records: install this one in another namespace, or add its values to '%s'" $other $.Release.Namespace $other) }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "hookrunner.serves" -}}
{{ if or .Values.webhooks.admission .Values.webhooks.conversion }}yes{{ end }}
{{- end }}

{{- /* The variables of the program: what the values say, and what the chart itself decides. */}}
{{- define "hookrunner.env" -}}
{{- $settings := dict "listen-port" .Values.port "tmp-dir" "/tmp/hookrunner" "debug-unix-socket" "/tmp/hookrunner/debug.socket" }}
{{- $_ := set $settings "modules-dir" (.Values.modules.enabled | ternary (include "hookrunner.modules.directories" .) ":") }}
{{- if .Values.addons.enabled }}
{{- $_ := set $settings "addons-dir" "/addons" }}
{{- $_ := set $settings "addon-patches" .Values.addons.patches }}
{{- $_ := set $settings "addon-accounts" .Values.addons.accounts }}
{{- with .Values.addons.names }}{{ $_ := set $settings "addons" (join "," .) }}{{ end }}
{{- with include "hookrunner.addons.namespaces" . }}{{ $_ := set $settings "addon-namespaces" . }}{{ end }}
{{- end }}
{{- if .Values.discovery.enabled }}
{{- $_ := set $settings "discovery" true }}
{{- with .Values.discovery.kinds }}{{ $_ := set $settings "discovery-kinds" (join "," .) }}{{ end }}
{{- end }}
{{- if include "hookrunner.serves" . }}
{{- $service := include "hookrunner.webhooks" . }}
{{- $source := ternary "self" "secret" (eq .Values.webhooks.certs "self") }}
{{- $_ := set $settings "webhook-port" .Values.webhooks.port }}
{{- $_ := set $settings "webhook-certs" (printf "%s:%s" $source (include "hookrunner.webhooks.secret" .)) }}
{{- $_ := set $settings "validating-webhook-service-name" $service }}
{{- $_ := set $settings "conversion-webhook-service-name" $service }}
{{- $_ := set $settings "validating-webhook-configuration-name" (include "hookrunner.clusterwide" .) }}
{{- with include "hookrunner.webhooks.clientCA" . }}{{ $_ := set $settings "validating-webhook-client-ca" . }}{{ end }}
{{- end -}}
# A default, which settings.hooks-dir and the predecessors' variables outrank.
- {name: HOOKRUNNER_DEFAULT_HOOKS_DIR, value: /hooks}
- name: HOOKRUNNER_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- range $flag, $value := merge (deepCopy .Values.settings) $settings }}
- {name: HOOKRUNNER_{{ $flag | upper | replace "-" "_" }}, value: {{ $value | quote }}}
{{- end }}
{{- include "hookrunner.endpoint" . }}
{{- end }}

{{- /* Where the API server is, for Pods that start before Services have addresses that work. */}}
{{- define "hookrunner.endpoint" -}}
{{- with .Values.kubernetesEndpoint }}
{{- if .host }}
- {name: KUBERNETES_SERVICE_HOST, value: {{ .host | quote }}}
- {name: KUBERNETES_SERVICE_PORT, value: {{ .port | quote }}}
{{- end }}
{{- end }}
{{- end }}

{{- define "hookrunner.modules.directories" -}}
{{ range .Values.modules.volumes }}/volumes/{{ .name }}:{{ end }}/modules
{{- end }}

{{- define "hookrunner.pod" -}}
{{- with .Values.imagePullSecrets -}}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{ end -}}
{{- if .Values.hostNetwork -}}
hostNetwork: true
# Names are resolved by the node: the cluster's DNS may not be there yet.
dnsPolicy: Default
{{ end -}}
{{- with .Values.priorityClassName -}}
priorityClassName: {{ . }}
{{ end -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if or .Values.tolerations .Values.hostNetwork }}
tolerations:
  {{- if .Values.hostNetwork }}
  # A node is not ready before it has a network, also when that takes longer than the 300 s of NoExecute, and has no
  # addresses before a cloud controller manager, which may be a module, has initialised it.
  - {key: node.kubernetes.io/not-ready, operator: Exists}
  - {key: node.cloudprovider.kubernetes.io/uninitialized, operator: Exists, effect: NoSchedule}
  - {key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}
  - {key: node.kubernetes.io/network-unavailable, operator: Exists, effect: NoSchedule}
  {{- end }}
  {{- with .Values.tolerations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "hookrunner.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
resources: {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}
