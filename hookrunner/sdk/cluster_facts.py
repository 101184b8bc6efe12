"""What a cluster shows of itself: the address of its DNS, its domain, kube-proxy's mode, its API server, the addresses
of its Pods.

    from hookrunner.sdk.cluster_facts import ClusterFacts, watch

    watch(hook, "cluster", "services", "kubelets")

    @hook.before_helm(order=10)
    @hook.group("cluster")
    def decide(snapshots, values):
        facts = ClusterFacts(snapshots)
        values.set("web.internal.domain", facts.domain or "cluster.local")

A fact that nothing shows is empty. kubeadm keeps the configurations of kubelets, of kube-proxy and its own in
ConfigMaps; other clusters have none of them. Their YAML is read line by line, because the standard library has no
parser for it.

An addon that has to know the addresses of Pods asks `ClusterFacts.cluster_cidr`, and reports what was found,
and where, in the condition `ClusterCIDR`:

    watch(hook, "cluster", *CLUSTER_CIDR)

    cidr = facts.cluster_cidr(spec.get("podCIDR"), default="10.244.0.0/16")
    facts.refuse_overlap("podCIDR", cidr.text)                # its source "services"
    cidr.report(conditions)
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import AddressValueError, IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, NamedTuple

from .answers import Conditions, HookFailed
from .hook import Hook
from .subjects import Snapshot

JSON = Any

_SYSTEM, _DEFAULT, _PUBLIC = "kube-system", "default", "kube-public"
SOURCES: Mapping[str, tuple[str, Mapping[str, JSON]]] = {
    "services": (
        "v1/Service",
        {
            "namespaces": [_SYSTEM, _DEFAULT],
            "names": ["kube-dns", "kubernetes"],
            "jq_filter": '{name: (.metadata.namespace + "/" + .metadata.name), ip: (.spec.clusterIP // "")}',
        },
    ),
    "kubelets": (
        "v1/ConfigMap",
        {"namespaces": [_SYSTEM], "names": ["kubelet-config"], "jq_filter": '.data.kubelet // ""'},
    ),
    "kubeadm": (
        "v1/ConfigMap",
        {"namespaces": [_SYSTEM], "names": ["kubeadm-config"], "jq_filter": '.data.ClusterConfiguration // ""'},
    ),
    "proxies": (
        "v1/ConfigMap",
        {"namespaces": [_SYSTEM], "names": ["kube-proxy"], "jq_filter": ".data // {}"},
    ),
    "info": (
        "v1/ConfigMap",
        {"namespaces": [_PUBLIC], "names": ["cluster-info"], "jq_filter": '.data.kubeconfig // ""'},
    ),
    "endpoints": (
        "discovery.k8s.io/v1/EndpointSlice",
        {
            "namespaces": [_DEFAULT],
            "label_selector": "kubernetes.io/service-name=kubernetes",
            "jq_filter": """
                {addresses: [.endpoints[]?.addresses[]],
                 port: ([.ports[]? | select(.name == "https").port][0] // 6443)}
            """,
        },
    ),
    # Of Cluster API, which few clusters have. A cluster that manages others has their objects, too.
    "clusters": (
        "cluster.x-k8s.io/v1beta2/Cluster",
        {
            "optional": True,
            "jq_filter": """
                {host: (.spec.controlPlaneEndpoint.host // ""), port: (.spec.controlPlaneEndpoint.port // 6443),
                 ranges: [.spec.clusterNetwork.pods.cidrBlocks[]?]}
            """,
        },
    ),
    "nodes": ("v1/Node", {"jq_filter": "[.spec.podCIDRs[]?]"}),
}
"""The bindings by their names. `dns_address` reads services and kubelets, `domain` kubelets, `proxy_mode` proxies,
`api_server` those of `API_SERVER`, `cluster_cidr` those of `CLUSTER_CIDR`, `refuse_overlap` services and kubeadm."""

API_SERVER = ("info", "kubeadm", "endpoints", "proxies")
CLUSTER_CIDR = ("info", "kubeadm", "clusters", "nodes")

_WIDER = 8
"""Bits. The range of the cluster is taken to have room for at least 256 Nodes, as with the defaults of kubeadm
(https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/, node-cidr-mask-size)."""


class ClusterCIDR(NamedTuple):
    """The addresses of Pods: a range, two separated by a comma in a cluster with both families, empty if nothing shows
    them. `source` is Spec, ClusterAPI, Kubeadm, Nodes, Default or NotFound."""

    text: str
    source: str

    def report(self, conditions: Conditions) -> None:
        """Report range and source in the condition ClusterCIDR."""
        message = f"{self.text}, {_SOURCE_WORDS[self.source]}" if self.text else _SOURCE_WORDS[self.source]
        conditions.set("ClusterCIDR", "True" if self.text else "Unknown", self.source, message)


_SOURCE_WORDS = {
    "Spec": "from the spec",
    "ClusterAPI": "from the object Cluster of Cluster API",
    "Kubeadm": "from the ConfigMap kube-system/kubeadm-config",
    "Nodes": "the range around podCIDRs of the Nodes; set it in the spec if it is another one",
    "Default": "the default, since nothing in the cluster shows it",
    "NotFound": "neither the spec nor the cluster shows the addresses of Pods",
}


def watch(hook: Hook, group: str, *sources: str) -> None:
    """Add the bindings of these sources to a group."""
    for source in sources:
        kind, binding = SOURCES[source]
        hook.watch(kind, source, group=group, synchronization=False, **binding)


class ClusterFacts:
    """What snapshots of the sources show. `advice` is what a user can do where one cannot be used, for the error."""

    def __init__(self, snapshots: Mapping[str, Snapshot], advice: str = "") -> None:
        self._snapshots = snapshots
        self._advice = f": {advice}" if advice else ""

    @property
    def kubelet(self) -> str:
        """The KubeletConfiguration."""
        return str(self._first("kubelets", ""))

    @property
    def domain(self) -> str:
        """As kubelets give it to Pods, for instance cluster.local."""
        return line_of("clusterDomain", self.kubelet).strip(".")

    @property
    def dns_address(self) -> str:
        """That of the DNS Service; without one, the address that it should have: what kubelets give to Pods, or what
        kubeadm would give it. Raises HookFailed if an address cannot be used."""
        if current := self.service_address("kube-system/kube-dns"):
            return current
        for text in _addresses(self.kubelet):
            if not ip_address(text).is_link_local:  # that would be a cache on the node
                return text
        first = self.service_address("default/kubernetes")
        return self._tenth(first) if first else ""

    @property
    def proxy(self) -> Mapping[str, str]:
        """The texts in kube-proxy's ConfigMap."""
        texts: Mapping[str, str] = self._first("proxies", {})
        return texts

    @property
    def proxy_mode(self) -> str:
        """iptables, ipvs or nftables."""
        return line_of("mode", self.proxy.get("config.conf", ""))

    def cluster_cidr(self, own: str | None, default: str = "") -> ClusterCIDR:
        """The addresses of Pods: those of the spec (`own`), else what Cluster API, kubeadm or the Nodes show, else the
        default."""
        kubeadm = line_of("podSubnet", self._first("kubeadm", ""), nested=True)
        found = {"Spec": own, "ClusterAPI": self._cluster_api_cidr, "Kubeadm": kubeadm, "Nodes": self._nodes_cidr}
        sources = (ClusterCIDR(text, source) for source, text in {**found, "Default": default}.items() if text)
        return next(sources, ClusterCIDR("", "NotFound"))

    def refuse_overlap(self, field: str, ranges: str) -> None:
        """Raise HookFailed if these addresses of Pods (see `networks`) are those of Services, too. `field` is that of
        the spec that can change them."""
        subnet = line_of("serviceSubnet", self._first("kubeadm", ""), nested=True)
        address = self.service_address("default/kubernetes")
        for network in networks(ranges, field).values():
            for services in filter(None, (*subnet.split(","), address)):
                if _overlap(network, services):
                    message = f"addresses of Pods {network} overlap those of Services ({services})"
                    raise HookFailed(f"{message}: set spec.{field} to another range")

    @property
    def api_server(self) -> str:
        """Its URL, as programs on nodes reach it without kube-proxy: by hookrunner's variable
        KUBEPROXY_KUBERNETES_SERVICE_HOST, else as the cluster shows it. Of several endpoints the one that kube-proxy
        has counts: a new one is no reason for a change."""
        if host := os.environ.get("KUBEPROXY_KUBERNETES_SERVICE_HOST"):
            return url(host, os.environ.get("KUBEPROXY_KUBERNETES_SERVICE_PORT", 443))
        if server := self._named_server:
            return server
        slices = self._snapshots["endpoints"].results
        servers = sorted({url(host, entry["port"]) for entry in slices for host in entry["addresses"]})
        return self.proxy_server if self.proxy_server in servers else next(iter(servers), "")

    @property
    def _named_server(self) -> str:
        """The URL of the API server that kubeadm has written down."""
        if server := line_of("server", self._first("info", ""), nested=True):
            return server
        endpoint = line_of("controlPlaneEndpoint", self._first("kubeadm", ""), nested=True)
        return f"https://{endpoint}{'' if re.search(r':[0-9]+$', endpoint) else ':6443'}" if endpoint else ""

    @property
    def _cluster_api_cidr(self) -> str:
        """Of the Cluster with this API server, or of the only one where its address is not known."""
        clusters, server = self._snapshots["clusters"].results, self._named_server
        own = [c for c in clusters if url(c["host"], c["port"]) == server] if server else clusters
        return ",".join(own[0]["ranges"]) if len(own) == 1 else ""

    @property
    def _nodes_cidr(self) -> str:
        """For each family the range that the Nodes have parts of; a new Node seldom changes it."""
        networks = [ip_network(text) for ranges in self._snapshots["nodes"].results for text in ranges]
        families = sorted({network.version for network in networks})
        return ",".join(str(_around(n for n in networks if n.version == family)) for family in families)

    @property
    def proxy_server(self) -> str:
        """The URL of the API server that kube-proxy asks."""
        return line_of("server", self.proxy.get("kubeconfig.conf", ""), nested=True)

    def service_address(self, name: str) -> str:
        """The address of a Service (namespace/name). Raises HookFailed for a headless one."""
        addresses = {service["name"]: service["ip"] for service in self._snapshots["services"].results}
        address: str = addresses.get(name, "")
        if address and not _is_address(address):
            raise HookFailed(f"Service {name} has the clusterIP {address!r}, which is no address{self._advice}")
        return address and str(ip_address(address))

    def _tenth(self, first: str) -> str:
        """kubeadm gives the DNS Service the tenth address of the range; `default/kubernetes` always has the first."""
        try:
            return str(ip_address(first) + 9)
        except AddressValueError:
            message = f"no tenth Service address after {first} of Service default/kubernetes"
            raise HookFailed(message + self._advice) from None

    def _first(self, source: str, default: JSON) -> JSON:
        return next(iter(self._snapshots[source].results), default)


def line_of(key: str, text: str, nested: bool = False) -> str:
    """The scalar of a key at the top of a YAML text, or wherever it stands; empty without one."""
    before = r"[ \t-]*" if nested else ""
    line = re.search(rf"^{before}{key}:[ \t]*[\"']?([^\s\"'#]+)", text, re.MULTILINE)
    return line[1] if line else ""


def server_of(own: Mapping[str, JSON] | None) -> str:
    """The URL of the API server that a spec names by `host` and `port` (6443 without it); empty without a host."""
    return url(own["host"], own.get("port", 6443)) if own and own.get("host") else ""


def host_and_port(server: str) -> Mapping[str, JSON]:
    """`host` (IPv6 without brackets) and `port` of a URL of an API server; empty for another text."""
    parts = re.fullmatch(r"https://\[?([0-9a-zA-Z.:-]+?)\]?(?::([0-9]+))?", server)
    return {"host": parts[1], "port": int(parts[2] or 443)} if parts else {}


def networks(ranges: str, field: str) -> Mapping[int, IPv4Network | IPv6Network]:
    """The network of each family, 4 or 6, in ranges that are separated by commas. Raises HookFailed, which names the
    field of the spec, for what is no range and for two of one family."""
    found: dict[int, IPv4Network | IPv6Network] = {}
    for text in filter(None, ranges.split(",")):
        try:
            network = ip_network(text.strip(), strict=False)
        except ValueError:
            raise HookFailed(f"spec.{field}: {text!r} is no range of addresses such as 10.244.0.0/16") from None
        if found.setdefault(network.version, network) is not network:
            raise HookFailed(f"spec.{field}: {ranges} has two ranges of IPv{network.version}, leave one out")
    return found


def url(host: str, port: object) -> str:
    """Of a server at an address of either family, or at a name."""
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _addresses(kubelet: str) -> Sequence[str]:
    """`clusterDNS` of a KubeletConfiguration, in either style of YAML."""
    setting = re.search(r"^clusterDNS:[ \t]*(\[[^\]]*\]|(?:\n[ \t]*- .*)+)", kubelet, re.MULTILINE)
    words = re.findall(r"[0-9a-fA-F.:]*[.:][0-9a-fA-F.:]+", setting[1]) if setting else []
    return [str(ip_address(word)) for word in words if _is_address(word)]


def _around(networks: Iterable[IPv4Network | IPv6Network]) -> IPv4Network | IPv6Network:
    """The range that has all of these, at least `_WIDER` bits wider than the widest."""
    widest, *others = sorted(networks, key=lambda network: network.prefixlen)
    result = widest.supernet(min(_WIDER, widest.prefixlen))
    while not all(network.overlaps(result) for network in others):
        result = result.supernet()
    return result


def _overlap(network: IPv4Network | IPv6Network, services: str) -> bool:
    """Has it addresses of this range or address of Services? No, if that is of the other family or is none."""
    try:
        other = ip_network(services, strict=False)
    except ValueError:
        return False
    return network.version == other.version and network.overlaps(other)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
