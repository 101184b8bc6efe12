{{- /* One chart for two addons: Calico, and Canal, in which flannel connects the Nodes and Calico applies policies. The values
are those of the addon that has them. */ -}}
{{- define "calico.name" -}}{{ hasKey .Values "canal" | ternary "canal" "calico-node" }}{{- end }}

{{- define "calico.config" -}}{{ hasKey .Values "canal" | ternary "canal-config" "calico-config" }}{{- end }}

{{- /* Who connects the Nodes: bird, vxlan, or none of Calico. */ -}}
{{- define "calico.backend" -}}{{ (.Values.calico | default (dict "backend" "none")).backend }}{{- end }}

{{- /* Which families Pods have; without any known range IPv4. */ -}}
{{- define "calico.isIPv6" -}}{{ not (empty (.Values.calico | default .Values.canal).internal.ipv6CIDR) }}{{- end }}

{{- define "calico.isIPv4" -}}
{{- $internal := (.Values.calico | default .Values.canal).internal }}
{{- or (not (empty $internal.ipv4CIDR)) (empty $internal.ipv6CIDR) }}
{{- end }}

{{- /* Bytes of a packet of Pods; 0 for what Felix measures. It does not know of the tunnels of flannel. */ -}}
{{- define "calico.mtu" -}}
{{- $own := .Values.calico | default .Values.canal }}
{{- $own.mtu | default (hasKey .Values "canal" | ternary (get (dict "vxlan" 1450 "wireguard" 1420) $own.backend) 0) | default 0 | int }}
{{- end }}

{{- /* The configuration of the CNI plugin: install-cni replaces the words between underscores. */ -}}
{{- define "calico.cni" -}}
{{- $isIPv4 := eq (include "calico.isIPv4" .) "true" }}
{{- $isIPv6 := eq (include "calico.isIPv6" .) "true" }}
{{- $ipam := dict "type" "calico-ipam" "assign_ipv4" (toString $isIPv4) "assign_ipv6" (toString $isIPv6) }}
{{- if eq (include "calico.backend" .) "none" }}
{{- $ranges := list }}
{{- if $isIPv4 }}{{ $ranges = append $ranges (list (dict "subnet" "usePodCidr")) }}{{ end }}
{{- if $isIPv6 }}{{ $ranges = append $ranges (list (dict "subnet" "usePodCidrIPv6")) }}{{ end }}
{{- $ipam = dict "type" "host-local" "ranges" $ranges }}
{{- end }}
{{- $calico := dict "type" "calico" "datastore_type" "kubernetes" "nodename" "__KUBERNETES_NODE_NAME__" "ipam" $ipam }}
{{- $_ := merge $calico (dict "log_level" "info" "log_file_path" "/var/log/calico/cni/cni.log" "mtu" (include "calico.mtu" . | int)) }}
{{- $_ := merge $calico (dict "policy" (dict "type" "k8s") "kubernetes" (dict "kubeconfig" "__KUBECONFIG_FILEPATH__")) }}
{{- $portmap := dict "type" "portmap" "snat" true "capabilities" (dict "portMappings" true) }}
{{- dict "name" "k8s-pod-network" "cniVersion" "1.0.0" "plugins" (list $calico $portmap) | toPrettyJson }}
{{- end }}

{{- /* The data of the ConfigMap with the API server; empty if it is not known. */ -}}
{{- define "calico.endpoint" -}}
{{- with (.Values.calico | default .Values.canal).internal.apiServer }}
KUBERNETES_SERVICE_HOST: {{ .host | quote }}
KUBERNETES_SERVICE_PORT: {{ .port | quote }}
{{- end }}
{{- end }}

{{- /* The data of the ConfigMap of calico-node. */ -}}
{{- define "calico.data" -}}
cni_network_config: |
  {{- include "calico.cni" . | nindent 2 }}
{{- with .Values.canal }}
{{- $network := dict "Backend" (dict "Type" .backend) "EnableIPv4" (not (empty .internal.ipv4CIDR)) "EnableIPv6" (not (empty .internal.ipv6CIDR)) }}
{{- with .internal.ipv4CIDR }}{{ $_ := set $network "Network" . }}{{ end }}
{{- with .internal.ipv6CIDR }}{{ $_ := set $network "IPv6Network" . }}{{ end }}
net-conf.json: |
  {{- toPrettyJson $network | nindent 2 }}
{{- end }}
{{- end }}

{{- /* The variables of Felix as JSON. What a field decides wins over the free map. */ -}}
{{- define "calico.felix" -}}
{{- $own := .Values.calico | default .Values.canal }}
{{- $felix := dict "DEFAULTENDPOINTTOHOSTACTION" "ACCEPT" "LOGSEVERITYSCREEN" "Info" }}
{{- if .Values.canal }}{{ $_ := set $felix "IPTABLESREFRESHINTERVAL" "60" }}{{ end }}
{{- range $name, $value := $own.felix }}{{ $_ := set $felix (upper $name) $value }}{{ end }}
{{- $fields := dict "HEALTHENABLED" "true" "IPV6SUPPORT" (include "calico.isIPv6" .) }}
{{- if $own.typhaReplicas }}{{ $_ := set $fields "TYPHAK8SSERVICENAME" "calico-typha" }}{{ end }}
{{- if .Values.calico }}
{{- $_ := merge $fields (dict "BPFENABLED" (toString $own.bpf) "WIREGUARDENABLED" (toString $own.wireguard)) }}
{{- $_ := set $fields "WIREGUARDENABLEDV6" ($own.wireguard | ternary (include "calico.isIPv6" .) "false") }}
{{- if $own.mtu }}
{{- range list "IPINIPMTU" "VXLANMTU" "VXLANMTUV6" "WIREGUARDMTU" "WIREGUARDMTUV6" }}{{ $_ := set $fields . ($own.mtu | int | toString) }}{{ end }}
{{- end }}
{{- end }}
{{- $env := dict }}
{{- range $name, $value := merge $fields $felix }}{{ $_ := set $env (printf "FELIX_%s" $name) $value }}{{ end }}
{{- toJson $env }}
{{- end }}

{{- /* The variables of calico-node that decide about addresses and tunnels, as JSON. */ -}}
{{- define "calico.network" -}}
{{- $internal := (.Values.calico | default .Values.canal).internal }}
{{- $isIPv4 := eq (include "calico.isIPv4" .) "true" }}
{{- $env := dict "NO_DEFAULT_POOLS" "true" "USE_POD_CIDR" "true" "CLUSTER_TYPE" (hasKey .Values "canal" | ternary "k8s,canal" "k8s") }}
{{- if ne (include "calico.backend" .) "none" }}
{{- $own := .Values.calico }}
{{- $encapsulation := $own.encapsulation | default (eq $own.backend "bird" | ternary "IPIP" "VXLAN") }}
{{- $modes := dict }}
{{- range list "IPIP" "VXLAN" }}
{{- $_ := set $modes . (get (dict . "Always" (printf "%sCrossSubnet" .) "CrossSubnet") $encapsulation | default "Never") }}
{{- end }}
{{- $env = dict "CLUSTER_TYPE" "k8s,bgp" "IP" ($isIPv4 | ternary "autodetect" "none") "IP_AUTODETECTION_METHOD" $own.ipAutodetection }}
{{- $_ := merge $env (dict "CALICO_IPV4POOL_IPIP" $modes.IPIP "CALICO_IPV4POOL_VXLAN" $modes.VXLAN "CALICO_IPV6POOL_VXLAN" $modes.VXLAN) }}
{{- with $internal.ipv4CIDR | default ($isIPv4 | ternary "" "none") }}{{ $_ := set $env "CALICO_IPV4POOL_CIDR" . }}{{ end }}
{{- $_ := set $env "CALICO_IPV6POOL_CIDR" ($internal.ipv6CIDR | default "none") }}
{{- if $internal.ipv6CIDR }}
{{- $_ := merge $env (dict "IP6" "autodetect" "CALICO_IPV6POOL_NAT_OUTGOING" "true") }}
{{- if not (and $isIPv4 (regexMatch "^(can-reach|cidr)=" $own.ipAutodetection)) }}{{ $_ := set $env "IP6_AUTODETECTION_METHOD" $own.ipAutodetection }}{{ end }}
{{- end }}
{{- if not $isIPv4 }}{{ $_ := set $env "CALICO_ROUTER_ID" "hash" }}{{ end }}
{{- end }}
{{- toJson $env }}
{{- end }}
