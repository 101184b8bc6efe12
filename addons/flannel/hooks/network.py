#!/usr/bin/env python3
"""Decides flannel's net-conf.json, and reports which backends have left interfaces and routes on Nodes.

What an earlier backend has made stays on a Node until it is restarted or someone deletes it, which nothing in the API
shows. So the hook writes an earlier backend into an annotation of the object, and reports it until a user removes that.
Source: https://github.com/flannel-io/flannel/blob/master/Documentation/configuration.md
"""

import json

from hookrunner.sdk import Hook, HookFailed
from hookrunner.sdk.cluster_facts import CLUSTER_CIDR, ClusterFacts, networks, watch

DEFAULT = "10.244.0.0/16"
EARLIER = "hookrunner.io/earlier-backends"
LEFT = {
    "vxlan": "interfaces flannel.1 and flannel-v6.1",
    "udp": "interface flannel0",
    "host-gw": "routes to podCIDRs of other Nodes",
    "wireguard": "interfaces flannel-wg and flannel-wg-v6",
}
"""What each backend leaves on a Node."""

hook = Hook(
    # To remember an earlier backend.
    permissions=[{"apiGroups": ["addons.x-k8s.io"], "resources": ["flannels"], "verbs": ["patch"]}]
)
watch(hook, "cluster", "services", *CLUSTER_CIDR)
hook.watch(
    "v1/ConfigMap",
    "configs",
    group="cluster",
    namespaces=["kube-system"],
    names=["kube-flannel-cfg"],
    events=[],
    synchronization=False,
    jq_filter='.data["net-conf.json"] // ""',
)


@hook.before_helm(order=10)
@hook.group("cluster")
def decide(snapshots, values, instance, cluster, conditions):
    facts, spec = ClusterFacts(snapshots), values.get("flannel")
    cidr = facts.cluster_cidr(spec.get("podCIDR"), default=DEFAULT)
    facts.refuse_overlap("podCIDR", cidr.text)
    cidr.report(conditions)
    values.set("flannel.internal", {"netConf": json.dumps(net_conf(spec, cidr.text), indent=2)})
    known = earlier_backends(instance)
    earlier = sorted({*known, *installed_backend(snapshots["configs"].results)} - {spec["backend"]})
    if instance and earlier != known:
        cluster.merge(instance, {"metadata": {"annotations": {EARLIER: ",".join(earlier) or None}}})
    if earlier:
        conditions.set("NodesNeedCleanup", "True", "BackendChanged", advice(earlier))


def net_conf(spec, cidr):
    """Flannel's configuration. Its networks are the addresses that are not masqueraded."""
    pods, wide = networks(cidr, "podCIDR"), networks(spec.get("masqueradeCIDR", ""), "masqueradeCIDR")
    for family, network in pods.items():
        if family in wide and not network.subnet_of(wide[family]):
            raise HookFailed(f"spec.masqueradeCIDR {wide[family]} does not contain the addresses of Pods {network}")
    if 6 in pods and spec["backend"] == "udp":
        raise HookFailed(f"spec.backend udp cannot carry IPv6 ({pods[6]}): set another one, or spec.podCIDR")
    found = {family: str(wide.get(family, network)) for family, network in pods.items()}
    ipv4 = {"Network": found[4]} if 4 in found else {"EnableIPv4": False}
    ipv6 = {"EnableIPv6": True, "IPv6Network": found[6]} if 6 in found else {}
    return {**ipv4, **ipv6, "Backend": {"Type": spec["backend"]}}


def earlier_backends(instance):
    """Those in the annotation of the object."""
    annotations = instance["metadata"].get("annotations", {}) if instance else {}
    return sorted(LEFT.keys() & annotations.get(EARLIER, "").split(","))


def installed_backend(configs):
    """The backend that the Nodes have, as a set; empty if nothing is installed."""
    try:
        return {json.loads(configs[0])["Backend"]["Type"]} & LEFT.keys() if configs else set()
    except (ValueError, KeyError, TypeError):  # written by someone else
        return set()


def advice(earlier):
    """What to do about what earlier backends have left."""
    left = "; ".join(f"{backend}: {LEFT[backend]}" for backend in earlier)
    return (
        f"Nodes keep what an earlier backend has made until they are restarted or it is deleted ({left}); "
        f"when they are clean, remove the annotation {EARLIER}"
    )


hook.run()
