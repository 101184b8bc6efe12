{{- define "cloud-controller-manager.selector" -}}
k8s-app: cloud-controller-manager
app.kubernetes.io/name: cloud-controller-manager
{{- end }}

{{- define "cloud-controller-manager.labels" -}}
{{ include "cloud-controller-manager.selector" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* Which controllers are on, by their aliases, and whether there are routes. */ -}}
{{- define "cloud-controller-manager.on" -}}
{{- $own := .Values.cloudControllerManager }}
{{- $on := dict }}
{{- $names := dict "cloud-node" "cloud-node-controller" "cloud-node-lifecycle" "cloud-node-lifecycle-controller"
  "service" "service-lb-controller" "route" "node-route-controller" }}
{{- range $alias, $name := $names }}
{{- $state := has "*" $own.controllers }}
{{- range reverse $own.controllers }}
{{- if has . (list $alias $name) }}{{ $state = true }}{{ end }}
{{- if has . (list (print "-" $alias) (print "-" $name)) }}{{ $state = false }}{{ end }}
{{- end }}
{{- $_ := set $on $alias $state }}
{{- end }}
{{- $_ := set $on "routes" (and (get $on "route") (ne $own.route.clusterCIDR "") $own.route.configureCloudRoutes) }}
{{- toYaml $on }}
{{- end }}

{{- /* The flags whose values are not the defaults, so that `compat: upstream` has its own for the others. */ -}}
{{- define "cloud-controller-manager.flags" -}}
{{- $own := .Values.cloudControllerManager }}
{{- $defaults := dict "nodeStatusUpdateFrequency" "5m" "nodeRequireAddresses" "false" "nodeLabelsSync" "false"
  "nodeBetaLabels" "true" "nodeMonitorPeriod" "10s" "nodeDeleteConfirmations" "3" "nodeDeleteMinAge" "5m"
  "nodeDeleteMaxPerPass" "1" "nodeDeleteMaxRatio" "0.2" "nodeDeleteDryRun" "false" "nodeOutOfServiceTaint" "false"
  "concurrentServiceSyncs" "4" "loadBalancerClass" "" "unclassedServices" "true" "loadBalancerResyncPeriod" "0"
  "clusterCIDR" "" "configureCloudRoutes" "true" "routeReconciliationPeriod" "60s" "routeKeepForeignCondition" "false"
  "leaderElect" "true" "leaderElectLeaseDuration" "15s" "leaderElectRenewDeadline" "10s" "leaderElectRetryPeriod" "2s"
  "leaderElectResourceName" "cloud-controller-manager" "leaderElectResourceNamespace" "kube-system" }}
{{- if $own.provider.script }}
- --cloud-provider=/provider/provider
{{- else }}
- --cloud-provider={{ $own.provider.name }}
- --providers-dir=/providers
{{- end }}
{{- if $own.provider.configSecret }}
- --cloud-config=/cloud-config/config
{{- end }}
{{- with concat (keys $own.provider.env | sortAlpha) $own.provider.envSecretKeys }}
- {{ printf "--cloud-env=%s" (join "," .) | quote }}
{{- end }}
{{- if ne $own.provider.providerTimeout "60s" }}
- --provider-timeout={{ $own.provider.providerTimeout }}
{{- end }}
{{- if ne $own.clusterName "kubernetes" }}
- {{ printf "--cluster-name=%s" $own.clusterName | quote }}
{{- end }}
{{- if ne (join "," $own.controllers) "*" }}
- {{ printf "--controllers=%s" (join "," $own.controllers) | quote }}
{{- end }}
{{- with $own.compat }}
- --compat={{ . }}
{{- end }}
{{- range $group := list $own.node $own.lifecycle $own.service $own.route $own.leaderElection }}
{{- range $name := keys $group | sortAlpha }}
{{- $value := get $group $name | toString }}
{{- if ne $value (get $defaults $name) }}
- {{ printf "--%s=%s" ($name | replace "CIDR" "Cidr" | kebabcase) $value | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What its Pods and the Job that cleans up have in common. */ -}}
{{- define "cloud-controller-manager.pod" -}}
{{- $own := .Values.cloudControllerManager -}}
serviceAccountName: cloud-controller-manager
enableServiceLinks: false
# There may be no network of Pods and no DNS of the cluster yet: both may wait for what this Pod does.
hostNetwork: true
dnsPolicy: Default
priorityClassName: {{ eq $own.deploy.mode "daemonset" | ternary "system-node-critical" "system-cluster-critical" }}
{{- with $own.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . | quote }}
{{- end }}
{{- end }}
nodeSelector: {kubernetes.io/os: linux}
{{- if eq $own.deploy.mode "daemonset" }}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]
{{- end }}
tolerations:
- {key: node.cloudprovider.kubernetes.io/uninitialized, operator: Exists}
- {key: node-role.kubernetes.io/control-plane, operator: Exists}
- {key: node-role.kubernetes.io/master, operator: Exists}
- {key: node.kubernetes.io/not-ready, operator: Exists}
- {key: node.kubernetes.io/network-unavailable, operator: Exists, effect: NoSchedule}
- {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 120}
{{- with $own.deploy.tolerations }}
{{ toYaml . }}
{{- end }}
securityContext:
  seccompProfile: {type: RuntimeDefault}
volumes:
- name: tmp
  emptyDir: {}
{{- if $own.provider.script }}
- name: provider
  configMap: {name: cloud-provider, defaultMode: 0555}
{{- end }}
{{- if $own.provider.configSecret }}
- name: cloud-config
  secret: {secretName: {{ $own.provider.configSecret | quote }}, defaultMode: 0440, items: [{key: config, path: config}]}
{{- end }}
{{- end }}

{{- define "cloud-controller-manager.container" -}}
{{- $own := .Values.cloudControllerManager -}}
image: {{ printf "%s:%s" $own.image.repository ($own.image.tag | default .Chart.AppVersion) | quote }}
env:
{{- with $own.deploy.kubernetesEndpoint }}
{{- if .host }}
- {name: KUBERNETES_SERVICE_HOST, value: {{ .host | quote }}}
- {name: KUBERNETES_SERVICE_PORT, value: {{ .port | int | toString | quote }}}
{{- end }}
{{- end }}
- {name: HOOKRUNNER_DEBUG_UNIX_SOCKET, value: /tmp/debug.socket}
{{- range $name := keys $own.provider.env | sortAlpha }}
- {name: {{ $name | quote }}, value: {{ get $own.provider.env $name | quote }}}
{{- end }}
{{- range $own.provider.envSecretKeys }}
- {name: {{ . | quote }}, valueFrom: {secretKeyRef: {name: {{ $own.provider.envSecret | quote }}, key: {{ . | quote }}}}}
{{- end }}
resources:
  {{- toYaml $own.deploy.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  capabilities: {drop: [ALL]}
volumeMounts:
- {name: tmp, mountPath: /tmp}
{{- if $own.provider.script }}
- {name: provider, mountPath: /provider, readOnly: true}
{{- end }}
{{- if $own.provider.configSecret }}
- {name: cloud-config, mountPath: /cloud-config, readOnly: true}
{{- end }}
{{- end }}
