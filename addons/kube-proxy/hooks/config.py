#!/usr/bin/env python3
"""Decides the API server that kube-proxy asks and its KubeProxyConfiguration: `internal` of the values.

Fields of the spec win over what the cluster shows. With `adopt`, mode, clusterCidr and every other setting of a
kube-proxy that is not ours yet are copied into the spec, where their user sees and keeps them. kubeadm's binding, which
ours replaces, is deleted after our objects are applied, so that kube-proxy is never without rights.
"""

import hashlib

from lib import block_yaml

from hookrunner.sdk import Hook, HookFailed, ref
from hookrunner.sdk.cluster_facts import API_SERVER, CLUSTER_CIDR, ClusterFacts, host_and_port, server_of, watch

OWN = {"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration"}
KUBECONFIG = {"clientConnection": {"kubeconfig": "/var/lib/kube-proxy/kubeconfig.conf"}}
BINDING = ref("rbac.authorization.k8s.io/v1/ClusterRoleBinding", "kubeadm:node-proxier")
NOT_COPIED = ("apiVersion", "kind", "hostnameOverride")
"""Settings of an adopted kube-proxy that this addon makes itself."""
ZERO_IS_A_CHOICE = ("conntrack", "featureGates", "localhostNodePorts")
"""Settings whose default is something else than zero, 0 s and false."""

hook = Hook(
    # To adopt what kubeadm has installed.
    permissions=[
        {"apiGroups": ["addons.x-k8s.io"], "resources": ["kubeproxies"], "verbs": ["patch"]},
        {
            "apiGroups": ["rbac.authorization.k8s.io"],
            "resources": ["clusterrolebindings"],
            "resourceNames": [BINDING["metadata"]["name"]],
            "verbs": ["get", "delete"],
        },
    ]
)
watch(hook, "cluster", *dict.fromkeys(API_SERVER + CLUSTER_CIDR))
QUIET = {"group": "cluster", "events": [], "synchronization": False}
hook.watch(
    "apps/v1/DaemonSet",
    "daemonsets",
    namespaces=["kube-system"],
    names=["kube-proxy"],
    **QUIET,
    jq_filter='.metadata.labels // {} | has("hookrunner.io/addon")',
)
hook.watch(
    "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
    "bindings",
    names=[BINDING["metadata"]["name"]],
    **QUIET,
    jq_filter=".metadata.name",
)


@hook.before_helm(order=10)
@hook.group("cluster")
def decide(snapshots, values, instance, cluster, conditions):
    facts, spec = ClusterFacts(snapshots), values.get("kubeProxy")
    found = facts.api_server
    adopted = adopted_spec(spec, facts, found) if is_adopting(instance, snapshots["daemonsets"].results) else {}
    spec = {**spec, **adopted}
    server = server_of(spec.get("apiServer")) or found
    if not server:
        raise HookFailed("no address of the API server in the cluster: set spec.apiServer.host")
    cidr = facts.cluster_cidr(spec.get("clusterCidr"))
    cidr.report(conditions)
    config = block_yaml.write(configuration(spec, cidr.text))
    digest = hashlib.sha256((config + server).encode()).hexdigest()
    values.set("kubeProxy.internal", {"config": config, "server": server, "configHash": digest})
    if adopted:
        cluster.merge(instance, {"spec": adopted})


@hook.after_helm(order=10)
def delete_replaced_binding(snapshots, values, instance, cluster, conditions):
    """Delete kubeadm's binding of an adopted kube-proxy; ours gives the same rights. This run, too, replaces what the
    hook has reported before."""
    ClusterFacts(snapshots).cluster_cidr(values.get("kubeProxy").get("clusterCidr")).report(conditions)
    if snapshots["bindings"] and instance and instance.get("spec", {}).get("adopt"):
        cluster.delete(BINDING)


def is_adopting(instance, ours):
    """Is there a kube-proxy that is not ours, and to be taken over? `ours` has it for each DaemonSet."""
    return bool(instance and instance.get("spec", {}).get("adopt") and ours and not ours[0])


def configuration(spec, cidr):
    """The KubeProxyConfiguration: the spec's `config` merged over the addon's own."""
    chosen = {"clusterCIDR": cidr, "mode": spec.get("mode", "")}
    own = {**KUBECONFIG, **{key: value for key, value in chosen.items() if value}}
    return {**merged(own, spec.get("config") or {}), **OWN}


def merged(below, above):
    """JSON merge patch (RFC 7396): null removes a key."""
    result = dict(below)
    for key, value in above.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            lower = result.get(key)
            result[key] = merged(lower if isinstance(lower, dict) else {}, value)
        else:
            result[key] = value
    return result


def adopted_spec(spec, facts, found):
    """Fields to copy into the spec from a foreign kube-proxy that is about to be adopted; none of them is set there.
    Its API server is one of them only if it is another than the one that is `found` without it."""
    try:
        config = chosen(block_yaml.parse(facts.proxy.get("config.conf", "")))
    except ValueError as error:
        message = f"ConfigMap kube-system/kube-proxy, key config.conf: {error}: set spec.config and delete the key"
        raise HookFailed(message) from None
    config.get("clientConnection", {}).pop("kubeconfig", None)
    fields = {"mode": config.pop("mode", ""), "clusterCidr": config.pop("clusterCIDR", "")}
    fields["apiServer"] = host_and_port(facts.proxy_server) if facts.proxy_server != found else {}
    fields["config"] = {key: value for key, value in config.items() if key not in NOT_COPIED and value != {}}
    return {key: value for key, value in fields.items() if value and not spec.get(key)}


def chosen(config):
    """The settings that someone chose: kubeadm writes every field, where null, zero and "" mean the default."""
    cleaned = {
        key: chosen(value) if isinstance(value, dict) and key not in ZERO_IS_A_CHOICE else value
        for key, value in config.items()
    }
    return {
        key: without_nothing(value)
        for key, value in cleaned.items()
        if value is not None and (key in ZERO_IS_A_CHOICE or value not in ("", 0, "0s", {}, []))
    }


def without_nothing(value):
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value


hook.run()
