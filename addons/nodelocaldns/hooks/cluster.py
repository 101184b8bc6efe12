#!/usr/bin/env python3
"""Decides on which addresses the cache listens and which servers it asks: `internal` of the values.

With iptables and nftables it takes over the address of the DNS Service on its node, and Pods need no change. kube-proxy
in mode ipvs holds that address itself: the cache has only its local address then, and kubelets have to write that into
Pods, which a condition says until they do (https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/).
"""

import sys

from hookrunner.sdk import Hook, HookFailed
from hookrunner.sdk.cluster_facts import ClusterFacts, watch

FOUND_BY_THE_CACHE = ("__PILLAR__CLUSTER__DNS__", "__PILLAR__UPSTREAM__SERVERS__")
"""node-cache replaces these by the address of kube-dns-upstream and by the servers of the node's resolv.conf."""

hook = Hook()
watch(hook, "cluster", "services", "kubelets", "proxies")


@hook.before_helm(order=10)
@hook.group("cluster")
def decide(snapshots, values, conditions):
    facts = ClusterFacts(snapshots, advice="set spec.clusterIP")
    own, shared = values.get("nodelocaldns"), values.get("global.dns", {})
    local, is_ipvs = own["localIP"], facts.proxy_mode == "ipvs"
    server = own.get("clusterIP") or own.get("dnsIP") or shared.get("serviceIP") or dns_service(facts)
    addresses = [local] if is_ipvs else [local, server]
    internal = {
        "domain": own.get("dnsDomain") or shared.get("domain") or facts.domain or "cluster.local",
        "addresses": " ".join(addresses),
        "listen": ",".join(addresses),
        "healthAddress": f"[{local}]" if ":" in local else local,
        "clusterServers": server if is_ipvs else FOUND_BY_THE_CACHE[0],
        "upstreams": " ".join(shared.get("upstreams") or FOUND_BY_THE_CACHE[1:]),
        "stubDomains": stub_domains(shared.get("stubDomains") or {}, addresses),
    }
    values.set("nodelocaldns.internal", internal)
    if is_ipvs and local not in facts.kubelet:
        message = f"kube-proxy has mode ipvs: set clusterDNS of the kubelets to {local}, else Pods do not use the cache"
        print(message, file=sys.stderr)
        conditions.set("KubeletsUseCache", "False", "ClusterDNS", message)


def dns_service(facts):
    """The address of the Service kube-dns. Raises HookFailed without one."""
    if address := facts.service_address("kube-system/kube-dns"):
        return address
    raise HookFailed("no Service kube-system/kube-dns to be a cache for: install CoreDNS, or set spec.clusterIP")


def stub_domains(domains, addresses):
    """A server block for each domain that has servers of its own."""
    lines = ("errors", "cache 30", "reload", "loop", f"bind {' '.join(addresses)}", "prometheus :9253")
    return "\n".join(
        f"{domain}:53 {{\n    " + "\n    ".join((*lines, f"forward . {' '.join(servers)}")) + "\n}"
        for domain, servers in sorted(domains.items())
    )


hook.run()
