#!/usr/bin/env python3
"""Decides the cluster's domain, the address of its DNS Service and the Corefile: `internal` of the values.

Fields of the spec win, then `global.dns`, then what the cluster shows. With `adopt`, the Corefile of a CoreDNS that is
not ours yet is copied into the spec, where its user sees and keeps it; so is the number of its Pods if a chart has set
it. That is a field of Helm's, and an object that is adopted loses those of them that the package does not have.

A Corefile that was written for another version is migrated on its way into the values; the spec keeps it as it is. For
which version it was written stands in an annotation. Where no one has set that, an adopted CoreDNS shows it, and before
an upgrade it is the version that runs; it is then written down.
"""

from lib.corefile_choice import ANNOTATION, Versions, choose, is_package_default, version_of_image

from hookrunner.sdk import Hook, HookFailed
from hookrunner.sdk.cluster_facts import ClusterFacts, watch

hook = Hook(
    # To adopt what another client has installed, and to keep for which version a Corefile was written.
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
     image: ([.spec.template.spec.containers[]? | select(.name == "coredns").image][0] // ""),
     config: ([.spec.template.spec.volumes[]? | select(.name == "config-volume").configMap.name][0] // "coredns")}
    """,
)
hook.watch("v1/ConfigMap", "configs", **QUIET, jq_filter='{name: .metadata.name, corefile: (.data.Corefile // "")}')


@hook.before_helm(order=10)
@hook.group("cluster")
def decide(snapshots, values, instance, cluster, conditions):
    own, shared = values.get("coredns"), values.get("global.dns", {})
    facts = ClusterFacts(snapshots, advice="set spec.dnsIP")
    foreign = adopted_deployment(instance, snapshots)
    domain = own.get("dnsDomain") or shared.get("domain") or facts.domain or "cluster.local"
    adopted = {
        "corefile": "" if own.get("corefile") else corefile_of(foreign, snapshots, domain),
        "replicas": 0 if own.get("replicas") else foreign.get("replicas") or 0,
    }
    corefile = own.get("corefile") or adopted["corefile"]
    version = stated_version(instance) or version_before(own, foreign if adopted["corefile"] else {})
    internal = {
        "domain": domain,
        "serviceIP": own.get("dnsIP") or shared.get("serviceIP") or facts.dns_address,
        "corefile": corefile and corefile_to_install(corefile, version, own, domain, conditions),
        "replicas": own.get("replicas") or adopted["replicas"],
    }
    values.set("coredns.internal", internal)
    remember(instance, cluster, adopted, version if corefile else "")


def adopted_deployment(instance, snapshots):
    """A foreign CoreDNS that is about to be adopted; empty without one. Its replicas are those of a chart: the field
    that kubeadm has set stays."""
    deployment = next(iter(snapshots["deployments"].results), None)
    adopts = instance and instance.get("spec", {}).get("adopt")
    return deployment if adopts and deployment and not deployment["ours"] else {}


def corefile_of(deployment, snapshots, domain):
    """The Corefile of a Deployment; empty without one, and if it is one that Kubernetes comes with: the package has its
    own."""
    name = deployment.get("config")
    corefiles = {config["name"]: config["corefile"] for config in snapshots["configs"].results}
    if name in corefiles and not corefiles[name]:
        raise HookFailed(f"ConfigMap kube-system/{name} of the CoreDNS to adopt has no key Corefile: set spec.corefile")
    corefile = corefiles.get(name, "")
    return "" if is_package_default(corefile, domain) else corefile


def stated_version(instance):
    """The version for which a Corefile was written, as the annotation states it; empty without one."""
    return ((instance or {}).get("metadata", {}).get("annotations") or {}).get(ANNOTATION, "")


def version_before(own, adopted):
    """The version that reads the Corefile up to now: that of what is adopted, or the one that is installed. Empty if it
    is the one that this run installs, or not known."""
    known = own.get("addon", {})
    version = version_of_image(adopted["image"]) if adopted else known.get("previousVersion", "")
    return "" if version == known.get("version") else version


def corefile_to_install(corefile, version, own, domain, conditions):
    """A user's Corefile for the version that this run installs; empty if the package's takes its place."""
    known = own.get("addon", {})
    versions = Versions(known.get("version", ""), known.get("availableVersion", ""))
    try:
        choice = choose(corefile, version, versions, domain)
    except ValueError as error:
        raise HookFailed(str(error)) from None
    if choice.message:
        conditions.set("CorefileCurrent", "False", choice.reason, choice.message)
    return choice.text


def remember(instance, cluster, adopted, version):
    """Copy what is adopted into the spec, and keep for which version a Corefile was written if it is another one than
    that which is installed: that will be forgotten by the next run."""
    copied = {name: value for name, value in adopted.items() if value}
    patch = {"spec": copied} if copied else {}
    if version and not stated_version(instance):
        patch["metadata"] = {"annotations": {ANNOTATION: version}}
    if patch and instance:
        cluster.merge(instance, patch)


hook.run()
