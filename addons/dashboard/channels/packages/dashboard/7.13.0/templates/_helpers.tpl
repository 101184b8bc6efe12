{{- define "dashboard.namespace" -}}kubernetes-dashboard{{- end }}

{{- /* What the selectors use; the dictionary has the name of the `part`. */ -}}
{{- define "dashboard.selector" -}}
app.kubernetes.io/name: kubernetes-dashboard-{{ .part }}
app.kubernetes.io/instance: kubernetes-dashboard
{{- end }}

{{- define "dashboard.labels" -}}
{{ include "dashboard.selector" . }}
app.kubernetes.io/part-of: kubernetes-dashboard
{{- end }}

{{- /* The beginning of an object of a part, with `apiVersion`, `kind` and if need be a `name`. */ -}}
{{- define "dashboard.head" -}}
apiVersion: {{ .apiVersion }}
kind: {{ .kind }}
metadata:
  name: {{ .name | default (printf "kubernetes-dashboard-%s" .part) }}
  {{- if not (hasPrefix "Cluster" .kind) }}
  namespace: {{ include "dashboard.namespace" . }}
  {{- end }}
  labels:
    {{- include "dashboard.labels" . | nindent 4 }}
{{- end }}

{{- /* A Deployment. The dictionary has the `part`, its `image`, `port` and `probes`, the `args` and `env` of its container,
the directories that it writes to (`writes`), a ConfigMap that it reads (`config`), whether it asks the API server
(`account`), and a text that replaces the Pods when it changes (`restart`). */ -}}
{{- define "dashboard.deployment" -}}
{{ include "dashboard.head" (merge (dict "apiVersion" "apps/v1" "kind" "Deployment") .) }}
spec:
  selector:
    matchLabels:
      {{- include "dashboard.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "dashboard.labels" . | nindent 8 }}
      {{- with .restart }}
      annotations:
        hookrunner.io/restart: {{ . | sha256sum }}
      {{- end }}
    spec:
      {{- if .account }}
      serviceAccountName: kubernetes-dashboard-{{ .part }}
      {{- else }}
      automountServiceAccountToken: false
      {{- end }}
      nodeSelector: {kubernetes.io/os: linux}
      securityContext:
        runAsNonRoot: true
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: {{ .part }}
        image: {{ .image }}
        {{- with .args }}
        args:
          {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with .env }}
        env:
          {{- toYaml . | nindent 8 }}
        {{- end }}
        ports:
        - {name: {{ .part }}, containerPort: {{ .port }}, protocol: TCP}
        {{- with .probes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        resources:
          requests: {cpu: 100m, memory: 200Mi}
          limits: {cpu: 250m, memory: 400Mi}
        securityContext:
          runAsUser: {{ .user | default 1001 }}
          runAsGroup: {{ .group | default 2001 }}
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
        volumeMounts:
        {{- range $name, $path := .writes }}
        - {name: {{ $name }}, mountPath: {{ $path }}}
        {{- end }}
        {{- with .config }}
        - {name: config, mountPath: {{ .path }}, readOnly: true}
        {{- end }}
      volumes:
      {{- range $name, $path := .writes }}
      - name: {{ $name }}
        emptyDir: {}
      {{- end }}
      {{- with .config }}
      - name: config
        configMap: {name: {{ .name }}}
      {{- end }}
{{- end }}

{{- /* The Service of a part; the dictionary has the `part`, and if need be a `name` and a `servicePort`. */ -}}
{{- define "dashboard.service" -}}
{{ include "dashboard.head" (merge (dict "apiVersion" "v1" "kind" "Service") .) }}
spec:
  selector:
    {{- include "dashboard.selector" . | nindent 4 }}
  ports:
  - {name: {{ .part }}, port: {{ .servicePort | default 8000 }}, targetPort: {{ .part }}, protocol: TCP}
{{- end }}

{{- /* A ServiceAccount and, if there are `rules`, a Role with them in the dashboard's namespace. */ -}}
{{- define "dashboard.account" -}}
{{ include "dashboard.head" (merge (dict "apiVersion" "v1" "kind" "ServiceAccount") .) }}
{{- if .rules }}
---
{{ include "dashboard.head" (merge (dict "apiVersion" "rbac.authorization.k8s.io/v1" "kind" "Role") .) }}
rules:
{{ toYaml .rules }}
---
{{ include "dashboard.head" (merge (dict "apiVersion" "rbac.authorization.k8s.io/v1" "kind" "RoleBinding") .) }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: kubernetes-dashboard-{{ .part }}}
subjects:
- {kind: ServiceAccount, name: kubernetes-dashboard-{{ .part }}, namespace: {{ include "dashboard.namespace" . }}}
{{- end }}
{{- end }}

{{- /* The variable with the key that hooks/csrf-key.py makes. */ -}}
{{- define "dashboard.key" -}}
- name: CSRF_KEY
  valueFrom:
    secretKeyRef: {name: kubernetes-dashboard-csrf, key: private.key}
{{- end }}
