#!/usr/bin/env python3
"""Decides the addresses of Pods and the API server: `internal` of the values.

Calico has to work before the Service default/kubernetes does, and with eBPF in place of kube-proxy. So its Pods get
the API server's own address where the spec or the cluster shows it.
"""

from hookrunner.sdk import Hook, HookFailed
from hookrunner.sdk.cluster_facts import (
    API_SERVER,
    CLUSTER_CIDR,
    ClusterFacts,
    host_and_port,
    networks,
    server_of,
    watch,
)

hook = Hook()
watch(hook, "cluster", "services", *sorted({*API_SERVER, *CLUSTER_CIDR}))


@hook.before_helm(order=10)
@hook.group("cluster")
def decide(snapshots, values, conditions):
    facts, own = ClusterFacts(snapshots, advice="set spec.podCIDR"), values.get("calico")
    cidr = facts.cluster_cidr(own.get("podCIDR"))
    facts.refuse_overlap("podCIDR", cidr.text)
    server = host_and_port(server_of(own.get("apiServer")) or facts.api_server)
    if own["bpf"] and not server:
        raise HookFailed("no address of the API server in the cluster, which spec.bpf needs: set spec.apiServer.host")
    families = networks(cidr.text, "podCIDR")
    internal = {"ipv4CIDR": str(families.get(4, "")), "ipv6CIDR": str(families.get(6, "")), "apiServer": server}
    values.set("calico.internal", internal)
    cidr.report(conditions)


hook.run()
