{{- /* What the spec sets, by Weave Net's variables; those that are not set have its own defaults. */ -}}
{{- define "weave-net.env" -}}
{{- $spec := .Values.weaveNet -}}
- name: HOSTNAME
  valueFrom:
    fieldRef: {fieldPath: spec.nodeName}
- {name: IPALLOC_RANGE, value: {{ $spec.internal.range | quote }}}
- {name: EXPECT_NPC, value: {{ $spec.networkPolicy | ternary "1" "0" | quote }}}
- {name: NO_MASQ_LOCAL, value: {{ $spec.noMasqLocal | ternary "1" "0" | quote }}}
- {name: HAIRPIN_MODE, value: {{ $spec.hairpinMode | quote }}}
- {name: WEAVE_METRICS_ADDR, value: {{ $spec.metricsAddr | quote }}}
{{- if $spec.checkpointDisable }}
- {name: CHECKPOINT_DISABLE, value: "1"}
{{- end }}
{{- range $name, $value := dict "CONN_LIMIT" $spec.connLimit "IPALLOC_INIT" $spec.ipallocInit "WEAVE_MTU" $spec.mtu "WEAVE_EXPOSE_IP" $spec.exposeIP "WEAVE_STATUS_ADDR" $spec.statusAddr "KUBE_PEERS" (join " " $spec.peers) "EXTRA_ARGS" (join " " $spec.extraArgs) }}
{{- if $value }}
- {name: {{ $name }}, value: {{ $value | toString | quote }}}
{{- end }}
{{- end }}
{{- with $spec.passwordSecret }}
- name: WEAVE_PASSWORD
  valueFrom:
    secretKeyRef: {name: {{ .name | quote }}, key: {{ .key | default .name | quote }}}
{{- end }}
{{- end }}
