{{- /* What the selectors use: the same as kubeadm's, so that its objects can be adopted. */ -}}
{{- define "coredns.selector" -}}
k8s-app: kube-dns
{{- end }}

{{- define "coredns.labels" -}}
{{ include "coredns.selector" . }}
kubernetes.io/cluster-service: "true"
kubernetes.io/name: CoreDNS
{{- end }}

{{- /* The user's Corefile, or ours: names of the cluster from the API server, stub domains to their servers, everything else
to the upstreams. */ -}}
{{- define "coredns.corefile" -}}
{{- $internal := .Values.coredns.internal }}
{{- $dns := (.Values.global | default dict).dns | default dict }}
{{- if $internal.corefile }}
{{- $internal.corefile | trim }}
{{- else -}}
.:53 {
    errors
    health {
        lameduck 5s
    }
    ready
    kubernetes {{ $internal.domain }} in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }
    prometheus :9153
    forward . {{ join " " ($dns.upstreams | default (list "/etc/resolv.conf")) }} {
        max_concurrent 1000
    }
    cache 30 {
        disable success {{ $internal.domain }}
        disable denial {{ $internal.domain }}
    }
    loop
    reload
    loadbalance
}
{{- range $domain, $servers := $dns.stubDomains }}
{{ $domain }}:53 {
    errors
    cache 30
    loop
    forward . {{ join " " $servers }}
}
{{- end }}
{{- end }}
{{- end }}
