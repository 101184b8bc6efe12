#!/usr/bin/env python3
"""Decides the addresses of Pods, and reports in condition KubeProxyAgrees if kube-proxy has others.

kube-proxy masquerades what comes to a Service from outside of its clusterCIDR. If that is not Weave Net's range, Pods
see addresses of Nodes, and network policies do not work.
Source: https://github.com/weaveworks/weave/blob/master/site/kubernetes/kube-addon.md (Things to watch out for)
"""

from hookrunner.sdk import Hook, HookFailed
from hookrunner.sdk.cluster_facts import CLUSTER_CIDR, ClusterFacts, line_of, networks, watch

DEFAULT = "10.32.0.0/12"

hook = Hook()
watch(hook, "cluster", "services", "proxies", *CLUSTER_CIDR)


@hook.before_helm(order=10)
@hook.group("cluster")
def decide(snapshots, values, conditions):
    facts = ClusterFacts(snapshots)
    cidr = facts.cluster_cidr(values.get("weaveNet").get("podCIDR"), default=DEFAULT)
    facts.refuse_overlap("podCIDR", cidr.text)
    pods = networks(cidr.text, "podCIDR").get(4)
    if not pods:
        raise HookFailed(f"Weave Net has no IPv6, and Pods have only {cidr.text}: set spec.podCIDR")
    cidr._replace(text=str(pods)).report(conditions)
    values.set("weaveNet.internal", {"range": str(pods)})
    theirs = line_of("clusterCIDR", facts.proxy.get("config.conf", ""))
    if theirs and networks(theirs, "podCIDR").get(4) != pods:
        message = f"kube-proxy has clusterCIDR {theirs}, but Pods have addresses of {pods}: set one to the other"
        conditions.set("KubeProxyAgrees", "False", "ClusterCIDR", message)


hook.run()
