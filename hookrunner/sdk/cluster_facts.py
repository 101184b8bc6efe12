"""What a cluster shows of itself: the address of its DNS, its domain, kube-proxy's mode, its API server.

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
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from ipaddress import AddressValueError, ip_address
from typing import Any

from .answers import HookFailed
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
}
"""The bindings by their names. `dns_address` reads services and kubelets, `domain` kubelets, `proxy_mode` proxies,
`pod_subnet` kubeadm, `api_server` info, kubeadm, endpoints and proxies."""


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

    @property
    def pod_subnet(self) -> str:
        """As kubeadm has it."""
        return line_of("podSubnet", self._first("kubeadm", ""), nested=True)

    @property
    def api_server(self) -> str:
        """Its URL. Of several endpoints the one that kube-proxy has counts: a new one is no reason for a change."""
        if server := line_of("server", self._first("info", ""), nested=True):
            return server
        if endpoint := line_of("controlPlaneEndpoint", self._first("kubeadm", ""), nested=True):
            return f"https://{endpoint}" if re.search(r":[0-9]+$", endpoint) else f"https://{endpoint}:6443"
        slices = self._snapshots["endpoints"].results
        servers = sorted({url(host, entry["port"]) for entry in slices for host in entry["addresses"]})
        return self.proxy_server if self.proxy_server in servers else next(iter(servers), "")

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


def url(host: str, port: object) -> str:
    """Of a server at an address of either family, or at a name."""
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _addresses(kubelet: str) -> Sequence[str]:
    """`clusterDNS` of a KubeletConfiguration, in either style of YAML."""
    setting = re.search(r"^clusterDNS:[ \t]*(\[[^\]]*\]|(?:\n[ \t]*- .*)+)", kubelet, re.MULTILINE)
    words = re.findall(r"[0-9a-fA-F.:]*[.:][0-9a-fA-F.:]+", setting[1]) if setting else []
    return [str(ip_address(word)) for word in words if _is_address(word)]


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
