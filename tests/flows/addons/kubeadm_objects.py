"""CoreDNS and kube-proxy as kubeadm installs them: names, labels and settings that its users have in their clusters.

Written from https://kubernetes.io/docs/reference/setup-tools/kubeadm/implementation-details/ and what `kubectl get`
shows in such a cluster, shortened to what an adoption can meet.
"""

from kubetypes.json_values import JSON

COREFILE = """\
.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    hosts {
       192.0.2.7 printer.example.com
       fallthrough
    }
    forward . /etc/resolv.conf
    cache 30
    loop
    reload
    loadbalance
}
"""
PROXY_CONFIG = """\
apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 0
  contentType: ""
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
  qps: 0
clusterCIDR: 10.244.0.0/16
configSyncPeriod: 0s
conntrack:
  maxPerCore: null
  min: null
  tcpCloseWaitTimeout: null
  tcpEstablishedTimeout: null
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables:
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
ipvs:
  excludeCIDRs: null
  minSyncPeriod: 0s
  scheduler: ""
  strictARP: true
  syncPeriod: 0s
kind: KubeProxyConfiguration
metricsBindAddress: ""
mode: ipvs
nodePortAddresses: null
oomScoreAdj: null
portRange: ""
"""
PROXY_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
    server: https://192.0.2.1:6443
  name: default
contexts:
- context: {cluster: default, namespace: default, user: default}
  name: default
current-context: default
users:
- name: default
  user: {tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}
"""
_NAMESPACE = "kube-system"
_RBAC = "rbac.authorization.k8s.io"


def kubeadm_objects(address: str) -> list[JSON]:
    """All of them; `address` is that of the DNS Service."""
    return [*_cluster_facts(address), *_dns_rights(), *_dns(address), *_proxy_rights(), *_proxy()]


def _cluster_facts(address: str) -> list[JSON]:
    """What kubeadm writes about the cluster for others to read."""
    kubelet = f"apiVersion: kubelet.config.k8s.io/v1beta1\nclusterDNS:\n- {address}\nclusterDomain: cluster.local\n"
    config = (
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrolPlaneEndpoint: 192.0.2.1:6443\n"
        "networking:\n  dnsDomain: cluster.local\n  podSubnet: 10.244.0.0/16\n"
    )
    return [
        _named("v1", "ConfigMap", "kubelet-config", data={"kubelet": kubelet}),
        _named("v1", "ConfigMap", "kubeadm-config", data={"ClusterConfiguration": config}),
    ]


def _named(api_version: str, kind: str, name: str, labels: JSON = None, **fields: JSON) -> JSON:
    metadata = {"name": name, "namespace": _NAMESPACE, **({"labels": labels} if labels else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _binding(name: str, role: str, account: str) -> JSON:
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": _NAMESPACE}]
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}
    metadata = {"name": name}
    kind = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRoleBinding"}
    return {**kind, "metadata": metadata, "roleRef": reference, "subjects": subjects}


def _dns_rights() -> list[JSON]:
    rules = [
        {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]
    role = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "system:coredns"}, "rules": rules}
    return [_named("v1", "ServiceAccount", "coredns"), role, _binding("system:coredns", "system:coredns", "coredns")]


def _dns(address: str) -> list[JSON]:
    labels = {"k8s-app": "kube-dns"}
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
        {"name": "metrics", "port": 9153, "protocol": "TCP", "targetPort": 9153},
    ]
    cluster = {**labels, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"}
    service = _named(
        "v1", "Service", "kube-dns", cluster, spec={"clusterIP": address, "ports": ports, "selector": labels}
    )
    deployment = {
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "template": {"metadata": {"labels": labels}, "spec": _dns_pod()},
    }
    return [
        _named("v1", "ConfigMap", "coredns", data={"Corefile": COREFILE}),
        service,
        _named("apps/v1", "Deployment", "coredns", labels, spec=deployment),
    ]


def _dns_pod() -> JSON:
    term = {
        "labelSelector": {"matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns"]}]},
        "topologyKey": "kubernetes.io/hostname",
    }
    affinity = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
    container = {
        "name": "coredns",
        "image": "registry.k8s.io/coredns/coredns:v1.12.0",
        "imagePullPolicy": "IfNotPresent",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
    }
    files = {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]}
    return {
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": "coredns",
        "affinity": {"podAntiAffinity": affinity},
        "dnsPolicy": "Default",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "containers": [container],
        "volumes": [{"name": "config-volume", "configMap": files}],
    }


def _proxy_rights() -> list[JSON]:
    rules = [{"apiGroups": [""], "resourceNames": ["kube-proxy"], "resources": ["configmaps"], "verbs": ["get"]}]
    group = {"apiGroup": _RBAC, "kind": "Group", "name": "system:bootstrappers:kubeadm:default-node-token"}
    reference = {"apiGroup": _RBAC, "kind": "Role", "name": "kube-proxy"}
    return [
        _named("v1", "ServiceAccount", "kube-proxy"),
        _binding("kubeadm:node-proxier", "system:node-proxier", "kube-proxy"),
        _named(f"{_RBAC}/v1", "Role", "kube-proxy", rules=rules),
        _named(f"{_RBAC}/v1", "RoleBinding", "kube-proxy", roleRef=reference, subjects=[group]),
    ]


def _proxy() -> list[JSON]:
    labels = {"k8s-app": "kube-proxy"}
    data = {"config.conf": PROXY_CONFIG, "kubeconfig.conf": PROXY_KUBECONFIG}
    container = {
        "name": "kube-proxy",
        "image": "registry.k8s.io/kube-proxy:v1.36.0",
        "command": [
            "/usr/local/bin/kube-proxy",
            "--config=/var/lib/kube-proxy/config.conf",
            "--hostname-override=$(NODE_NAME)",
        ],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": "kube-proxy", "mountPath": "/var/lib/kube-proxy"}],
    }
    pod = {
        "priorityClassName": "system-node-critical",
        "serviceAccountName": "kube-proxy",
        "hostNetwork": True,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [{"name": "kube-proxy", "configMap": {"name": "kube-proxy"}}],
    }
    daemons = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
        "updateStrategy": {"type": "RollingUpdate"},
    }
    return [
        _named("v1", "ConfigMap", "kube-proxy", {"app": "kube-proxy"}, data=data),
        _named("apps/v1", "DaemonSet", "kube-proxy", labels, spec=daemons),
    ]
