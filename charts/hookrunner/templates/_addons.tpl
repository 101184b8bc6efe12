{{- /* The kinds of the addons in the image, by the addon's name. */}}
{{- define "hookrunner.addons.shipped" -}}
calico: {plural: calicos}
canal: {plural: canals}
cloud-controller-manager: {plural: cloudcontrollermanagers}
coredns: {plural: coredns}
dashboard: {plural: dashboards}
flannel: {plural: flannels}
ingress-nginx: {plural: ingressnginxes}
kube-proxy: {plural: kubeproxies}
metrics-server: {plural: metricsservers}
nodelocaldns: {plural: nodelocaldns}
weave-net: {plural: weavenets}
{{- end }}

{{- /* The kinds that are offered, as {addon: {group, plural}}. */}}
{{- define "hookrunner.addons.kinds" -}}
{{- $known := merge (deepCopy .Values.addons.kinds) (include "hookrunner.addons.shipped" . | fromYaml) }}
{{- $offered := dict }}
{{- range $name := .Values.addons.names | default (keys $known) }}
{{- if not (hasKey $known $name) }}{{ fail (printf "addons.names: '%s' is not in the image: there are %s. Of an addon of your own name the kind: addons.kinds.%s={group: …, plural: …}" $name (keys $known | sortAlpha | join ", ") $name) }}{{ end }}
{{- $kind := get $known $name }}
{{- $_ := set $offered $name (dict "group" (get $kind "group" | default "addons.x-k8s.io") "plural" $kind.plural) }}
{{- end }}
{{- if get .Values.settings "addon-generic-sources" }}
{{- $_ := set $offered "generic" (dict "group" "addons.x-k8s.io" "plural" "generics") }}
{{- end }}
{{- toYaml $offered }}
{{- end }}

{{- /* The namespaces in which instances are reconciled, as the flag has them; empty for all. */}}
{{- define "hookrunner.addons.namespaces" -}}
{{- $names := .Values.addons.namespaces | default (list "kube-system" .Release.Namespace | uniq) }}
{{- get .Values.settings "addon-namespaces" | default (has "*" $names | ternary "" (join "," $names)) }}
{{- end }}

{{- /* The instances in the cluster that are in another namespace, a line each; empty without a cluster. A kind that is
not served, or not by this version, has none that could be read. */}}
{{- define "hookrunner.addons.shutOut" -}}
{{- $allowed := include "hookrunner.addons.namespaces" . }}
{{- if and $allowed .Values.rbac.create }}
{{- range $kind := include "hookrunner.addons.kinds" . | fromYaml }}
{{- with lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" (printf "%s.%s" $kind.plural $kind.group) }}
{{- $version := printf "%s/%s" $kind.group (first .spec.versions).name }}
{{- if and (eq .spec.scope "Namespaced") ($.Capabilities.APIVersions.Has (printf "%s/%s" $version .spec.names.kind)) }}
{{- $name := .spec.names.kind }}
{{- range (lookup $version $name "" "").items }}
{{- if not (has .metadata.namespace (splitList "," $allowed)) }}
    {{ $name }} {{ .metadata.namespace }}/{{ .metadata.name }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* A rule for each offered kind: what is allowed on its objects, with a subresource or without. */}}
{{- define "hookrunner.addons.rules" -}}
{{- $groups := dict }}
{{- range $kind := include "hookrunner.addons.kinds" .root | fromYaml }}
{{- $_ := set $groups $kind.group (append (get $groups $kind.group | default list) (printf "%s%s" $kind.plural $.subresource)) }}
{{- end }}
{{- range $group, $resources := $groups }}
- {apiGroups: [{{ $group }}], resources: [{{ $resources | sortAlpha | join ", " }}], verbs: [{{ $.verbs | join ", " }}]}
{{- end }}
{{- end }}

{{- /* The rules for what the offered addons of the image install, as {rules, namespaces}. */}}
{{- define "hookrunner.addons.installed" -}}
{{- $rules := list }}
{{- $namespaces := dict }}
{{- range $name, $kind := include "hookrunner.addons.kinds" . | fromYaml }}
{{- if not (or (hasKey $.Values.addons.kinds $name) (eq $name "generic")) }}
{{- $file := $.Files.Get (printf "files/%s/%s.yaml" (eq $.Values.addons.accounts "require" | ternary "watching" "rights") $name) | fromYaml }}
{{- $rules = concat $rules ($file.rules | default list) | uniq }}
{{- range $namespace, $within := $file.namespaces }}
{{- $_ := set $namespaces $namespace (concat (get $namespaces $namespace | default list) $within | uniq) }}
{{- end }}
{{- end }}
{{- end }}
{{- dict "rules" $rules "namespaces" $namespaces | toYaml }}
{{- end }}

{{- define "hookrunner.addons.instances" -}}
{{ include "hookrunner.name" . | trunc 53 | trimSuffix "-" }}-instances
{{- end }}
