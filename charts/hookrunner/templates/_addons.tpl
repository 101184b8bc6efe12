{{- /* The kinds of the addons in the image, by the addon's name. */}}
{{- define "hookrunner.addons.shipped" -}}
coredns: {plural: coredns}
dashboard: {plural: dashboards}
kube-proxy: {plural: kubeproxies}
metrics-server: {plural: metricsservers}
nodelocaldns: {plural: nodelocaldns}
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
{{- toYaml $offered }}
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

{{- define "hookrunner.addons.instances" -}}
{{ include "hookrunner.name" . | trunc 53 | trimSuffix "-" }}-instances
{{- end }}
