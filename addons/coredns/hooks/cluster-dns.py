#!/usr/bin/env python3
"""Decides the cluster's domain, the address of its DNS Service and the Corefile: `internal` of the values.

Fields of the spec win, then `global.dns`, then what the cluster shows. With `adopt`, the Corefile of a CoreDNS that is
not ours yet is copied into the spec, where its user sees and keeps it; so is the number of its Pods if a chart has set
it. That is a field of Helm's, and an object that is adopted loses those of them that the package does not have.
"""

from hookrunner.sdk import Hook, HookFailed
from hookrunner.sdk.cluster_facts import ClusterFacts, watch

hook = Hook(
    # To adopt what another client has installed.
    permissions=[{"apiGroups": ["addons.x-k8s.io"], "resources": ["coredns"], "verbs": ["patch"]}]
)
watch(hook, "cluster", "services", "kubelets")
QUIET = {"group": "cluster", "events": [], "synchronization": False, "namespaces": ["kube-system"]}
hook.watch(
    "apps/v1/Deployment",
    "deployments",
    names=["coredns"],
    **QUIET,
    jq_filter="""
    {ours: (.metadata.labels // {} | has("hookrunner.io/addon")),
     replicas: (if .metadata.annotations["meta.helm.sh/release-name"]? then .spec.replicas else null end),
     config: ([.spec.template.spec.volumes[]? | select(.name == "config-volume").configMap.name][0] // "coredns")}
    """,
)
hook.watch("v1/ConfigMap", "configs", **QUIET, jq_filter='{name: .metadata.name, corefile: (.data.Corefile // "")}')


@hook.before_helm(order=10)
@hook.group("cluster")
def decide(snapshots, values, instance, cluster):
    own, shared = values.get("coredns"), values.get("global.dns", {})
    facts = ClusterFacts(snapshots, advice="set spec.dnsIP")
    foreign = adopted_deployment(instance, snapshots)
    adopted = {
        "corefile": "" if own.get("corefile") else corefile_of(foreign, snapshots),
        "replicas": 0 if own.get("replicas") else foreign.get("replicas") or 0,
    }
    internal = {
        "domain": own.get("dnsDomain") or shared.get("domain") or facts.domain or "cluster.local",
        "serviceIP": own.get("dnsIP") or shared.get("serviceIP") or facts.dns_address,
        **{name: own.get(name) or value for name, value in adopted.items()},
    }
    values.set("coredns.internal", internal)
    if copied := {name: value for name, value in adopted.items() if value}:
        cluster.merge(instance, {"spec": copied})


def adopted_deployment(instance, snapshots):
    """A foreign CoreDNS that is about to be adopted; empty without one. Its replicas are those of a chart: the field
    that kubeadm has set stays."""
    deployment = next(iter(snapshots["deployments"].results), None)
    adopts = instance and instance.get("spec", {}).get("adopt")
    return deployment if adopts and deployment and not deployment["ours"] else {}


def corefile_of(deployment, snapshots):
    """The Corefile of a Deployment; empty without one."""
    name = deployment.get("config")
    corefiles = {config["name"]: config["corefile"] for config in snapshots["configs"].results}
    if name in corefiles and not corefiles[name]:
        raise HookFailed(f"ConfigMap kube-system/{name} of the CoreDNS to adopt has no key Corefile: set spec.corefile")
    return corefiles.get(name, "")


hook.run()
