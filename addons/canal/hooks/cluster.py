#!/usr/bin/env python3
"""Decides the addresses of Pods and the API server: `internal` of the values.

flannel refuses a Node whose podCIDR is not in its network, so that is asked of the cluster before it is guessed.
"""

from hookrunner.sdk import Hook
from hookrunner.sdk.cluster_facts import (
    API_SERVER,
    CLUSTER_CIDR,
    ClusterFacts,
    host_and_port,
    networks,
    server_of,
    watch,
)

DEFAULT = "10.244.0.0/16"

hook = Hook()
watch(hook, "cluster", "services", *sorted({*API_SERVER, *CLUSTER_CIDR}))


@hook.before_helm(order=10)
@hook.group("cluster")
def decide(snapshots, values, conditions):
    facts, own = ClusterFacts(snapshots, advice="set spec.podCIDR"), values.get("canal")
    cidr = facts.cluster_cidr(own.get("podCIDR"), DEFAULT)
    facts.refuse_overlap("podCIDR", cidr.text)
    families = networks(cidr.text, "podCIDR")
    internal = {
        "ipv4CIDR": str(families.get(4, "")),
        "ipv6CIDR": str(families.get(6, "")),
        "apiServer": host_and_port(server_of(own.get("apiServer")) or facts.api_server),
    }
    values.set("canal.internal", internal)
    cidr.report(conditions)


hook.run()
