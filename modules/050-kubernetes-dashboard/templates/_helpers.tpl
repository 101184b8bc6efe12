{{- /* What the selectors use; the dictionary has the name of the `part`. */ -}}
{{- define "kubernetes-dashboard.selector" -}}
app.kubernetes.io/name: kubernetes-dashboard-{{ .part }}
app.kubernetes.io/instance: kubernetes-dashboard
{{- end }}

{{- define "kubernetes-dashboard.labels" -}}
{{ include "kubernetes-dashboard.selector" . }}
app.kubernetes.io/part-of: kubernetes-dashboard
{{- end }}

{{- /* A Deployment with what belongs to it. The dictionary has the context as `root`, the name of the `part`, its `image`,
`port` and `probes`, the `args` and `env` of its container, which directories it writes to (`writes`) and what it reads
(`config`: a ConfigMap), its `account` and number of `replicas`, and a `restart`: it begins anew if that changes. */ -}}
{{- define "kubernetes-dashboard.deployment" -}}
{{- $own := .root.Values.kubernetesDashboard -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: kubernetes-dashboard-{{ .part }}
  namespace: {{ $own.namespace | quote }}
  labels:
    {{- include "kubernetes-dashboard.labels" . | nindent 4 }}
spec:
  replicas: {{ .replicas }}
  selector:
    matchLabels:
      {{- include "kubernetes-dashboard.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "kubernetes-dashboard.labels" . | nindent 8 }}
      {{- with .restart }}
      annotations:
        hookrunner.io/restart: {{ . | sha256sum }}
      {{- end }}
    spec:
      {{- with .account }}
      serviceAccountName: {{ . }}
      {{- end }}
      {{- if not .account }}
      automountServiceAccountToken: false
      {{- end }}
      {{- with $own.priorityClassName }}
      priorityClassName: {{ . | quote }}
      {{- end }}
      {{- with $own.imagePullSecrets }}
      imagePullSecrets:
      {{- range . }}
      - name: {{ . | quote }}
      {{- end }}
      {{- end }}
      nodeSelector:
        {{- merge (dict "kubernetes.io/os" "linux") $own.nodeSelector | toYaml | nindent 8 }}
      {{- with $own.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: {{ .part }}
        image: {{ printf "%s:%s" .image.repository .image.tag | quote }}
        {{- with .args }}
        args:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        {{- with .env }}
        env:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        ports:
        - {name: {{ .part }}, containerPort: {{ .port }}, protocol: TCP}
        {{- with .probes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        resources:
          {{- toYaml $own.resources | nindent 10 }}
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
{{- if gt (int .replicas) 1 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: kubernetes-dashboard-{{ .part }}
  namespace: {{ $own.namespace | quote }}
  labels:
    {{- include "kubernetes-dashboard.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "kubernetes-dashboard.selector" . | nindent 6 }}
{{- end }}
{{- end }}

{{- /* The Service of a part; the dictionary has the context as `root`, the `part`, and if need be a `name` and a `port`. */ -}}
{{- define "kubernetes-dashboard.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .name | default (printf "kubernetes-dashboard-%s" .part) }}
  namespace: {{ .root.Values.kubernetesDashboard.namespace | quote }}
  labels:
    {{- include "kubernetes-dashboard.labels" . | nindent 4 }}
spec:
  selector:
    {{- include "kubernetes-dashboard.selector" . | nindent 4 }}
  ports:
  - {name: {{ .part }}, port: {{ .port | default 8000 }}, targetPort: {{ .part }}, protocol: TCP}
{{- end }}

{{- /* An account and, if it has rules, a Role with them. The dictionary has the context as `root`, `part` and `rules`. */ -}}
{{- define "kubernetes-dashboard.account" -}}
{{- $namespace := .root.Values.kubernetesDashboard.namespace -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: kubernetes-dashboard-{{ .part }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- include "kubernetes-dashboard.labels" . | nindent 4 }}
{{- with .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: kubernetes-dashboard-{{ $.part }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- include "kubernetes-dashboard.labels" $ | nindent 4 }}
rules:
  {{- toYaml . | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: kubernetes-dashboard-{{ $.part }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- include "kubernetes-dashboard.labels" $ | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: kubernetes-dashboard-{{ $.part }}}
subjects:
- {kind: ServiceAccount, name: kubernetes-dashboard-{{ $.part }}, namespace: {{ $namespace | quote }}}
{{- end }}
{{- end }}
