#!/usr/bin/env python3
"""Decides the API server that kube-proxy asks and its KubeProxyConfiguration: `internal` of the values.

Fields of the spec win over what the cluster shows. With `adopt`, mode, clusterCidr and every other setting of a
kube-proxy that is not ours yet are copied into the spec, where their user sees and keeps them. kubeadm's binding, which
ours replaces, is deleted after our objects are applied, so that kube-proxy is never without rights.
"""

import hashlib
import json
import os
import re
import sys
from typing import Any

from lib import block_yaml

CONFIG = """
configVersion: v1
settings:
  permissions:   # to adopt what kubeadm has installed
  - {apiGroups: [addons.x-k8s.io], resources: [kubeproxies], verbs: [patch]}
  - apiGroups: [rbac.authorization.k8s.io]
    resources: [clusterrolebindings]
    resourceNames: ["kubeadm:node-proxier"]
    verbs: [get, delete]
beforeHelm: 10
afterHelm: 10
kubernetes:
- name: settings
  group: cluster
  kind: ConfigMap
  namespace: {nameSelector: {matchNames: [kube-system, kube-public]}}
  nameSelector: {matchNames: [cluster-info, kubeadm-config, kube-proxy]}
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: '{name: .metadata.name, data: (.data // {})}'
- name: endpoints
  group: cluster
  apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  namespace: {nameSelector: {matchNames: [default]}}
  labelSelector: {matchLabels: {kubernetes.io/service-name: kubernetes}}
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: '{addresses: [.endpoints[]?.addresses[]], port: ([.ports[]? | select(.name == "https").port][0] // 6443)}'
- name: daemonsets
  group: cluster
  apiVersion: apps/v1
  kind: DaemonSet
  namespace: {nameSelector: {matchNames: [kube-system]}}
  nameSelector: {matchNames: [kube-proxy]}
  executeHookOnEvent: []
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: '{ours: (.metadata.labels // {} | has("hookrunner.io/addon"))}'
- name: bindings
  group: cluster
  apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRoleBinding
  nameSelector: {matchNames: ["kubeadm:node-proxier"]}
  executeHookOnEvent: []
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: .metadata.name
"""
OWN = {"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration"}
KUBECONFIG = {"clientConnection": {"kubeconfig": "/var/lib/kube-proxy/kubeconfig.conf"}}
NOT_COPIED = ("apiVersion", "kind", "hostnameOverride")
"""Settings of an adopted kube-proxy that this addon makes itself."""
ZERO_IS_A_CHOICE = ("conntrack", "featureGates", "localhostNodePorts")
"""Settings whose default is something else than zero, 0 s and false."""


def main() -> None:
    context = read("BINDING_CONTEXT_PATH")[-1]
    snapshots = {
        name: [entry.get("filterResult") for entry in entries] for name, entries in context["snapshots"].items()
    }
    if context["binding"] == "afterHelm":
        delete_replaced_binding(snapshots)
        return
    settings = {setting["name"]: setting["data"] for setting in snapshots["settings"]}
    spec = read("VALUES_PATH")["kubeProxy"]
    found = found_server(settings, snapshots["endpoints"])
    adopted = adopted_spec(spec, settings.get("kube-proxy", {}), snapshots["daemonsets"], found)
    spec = {**spec, **adopted}
    server = own_server(spec) or found
    if not server:
        sys.exit("no address of the API server in the cluster: set spec.apiServer.host")
    config = block_yaml.write(configuration(spec, settings))
    internal = {
        "config": config,
        "server": server,
        "configHash": hashlib.sha256((config + server).encode()).hexdigest(),
    }
    write("VALUES_JSON_PATCH_PATH", {"op": "add", "path": "/kubeProxy/internal", "value": internal})
    if adopted:
        write("KUBERNETES_PATCH_PATH", patch_of_spec(adopted))


def read(variable: str) -> Any:
    with open(os.environ[variable]) as file:
        return json.load(file)


def write(variable: str, document: object) -> None:
    with open(os.environ[variable], "w") as file:
        json.dump(document, file)


def configuration(spec: dict[str, Any], settings: dict[str, dict[str, str]]) -> dict[str, Any]:
    """The KubeProxyConfiguration: the spec's `config` merged over the addon's own."""
    kubeadm = settings.get("kubeadm-config", {}).get("ClusterConfiguration", "")
    chosen = {
        "clusterCIDR": spec.get("clusterCidr") or line_of("podSubnet", kubeadm),
        "mode": spec.get("mode", ""),
    }
    own = {**KUBECONFIG, **{key: value for key, value in chosen.items() if value}}
    return {**merged(own, spec.get("config") or {}), **OWN}


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
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


def own_server(spec: dict[str, Any]) -> str:
    """The URL of the API server that the spec names; empty if it names none."""
    own = spec.get("apiServer") or {}
    return url(own["host"], own.get("port", 6443)) if own.get("host") else ""


def found_server(settings: dict[str, dict[str, str]], endpoints: list[dict[str, Any]]) -> str:
    """The URL of the API server, by the first source beside the spec that has one; empty if no source has it."""
    environ = os.environ
    if host := environ.get("KUBEPROXY_KUBERNETES_SERVICE_HOST"):
        return url(host, environ.get("KUBEPROXY_KUBERNETES_SERVICE_PORT", 443))
    if server := line_of("server", settings.get("cluster-info", {}).get("kubeconfig", "")):
        return server
    if endpoint := line_of("controlPlaneEndpoint", settings.get("kubeadm-config", {}).get("ClusterConfiguration", "")):
        return f"https://{endpoint}" if re.search(r":[0-9]+$", endpoint) else f"https://{endpoint}:6443"
    servers = sorted({url(host, entry["port"]) for entry in endpoints for host in entry["addresses"]})
    current = line_of("server", settings.get("kube-proxy", {}).get("kubeconfig.conf", ""))
    return current if current in servers else next(iter(servers), "")  # a new endpoint is no reason to replace Pods


def url(host: str, port: object) -> str:
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def line_of(key: str, text: str) -> str:
    """The scalar of a key in a YAML text, wherever it stands; empty without one."""
    line = re.search(rf"^[ \t-]*{key}:[ \t]*[\"']?([^\s\"'#]+)", text, re.MULTILINE)
    return line[1] if line else ""


def adopted_spec(
    spec: dict[str, Any], proxy: dict[str, str], daemonsets: list[dict[str, bool]], found: str
) -> dict[str, Any]:
    """Fields to copy into the spec from a foreign kube-proxy that is about to be adopted; none of them is set there.
    Its API server is one of them only if it is another than the one that is `found` without it."""
    if not instance()["spec"].get("adopt") or not daemonsets or daemonsets[0]["ours"]:
        return {}
    try:
        config = chosen(block_yaml.parse(proxy.get("config.conf", "")))
    except ValueError as error:
        sys.exit(f"ConfigMap kube-system/kube-proxy, key config.conf: {error}: set spec.config and delete the key")
    config.get("clientConnection", {}).pop("kubeconfig", None)
    fields = {"mode": config.pop("mode", ""), "clusterCidr": config.pop("clusterCIDR", "")}
    fields["apiServer"] = asked_server(proxy, found)
    fields["config"] = {key: value for key, value in config.items() if key not in NOT_COPIED and value != {}}
    return {key: value for key, value in fields.items() if value and not spec.get(key)}


def asked_server(proxy: dict[str, str], found: str) -> dict[str, Any]:
    """The API server of an adopted kube-proxy as `spec.apiServer`, empty if it is the one that is found."""
    server = line_of("server", proxy.get("kubeconfig.conf", ""))
    parts = re.fullmatch(r"https://\[?([0-9a-zA-Z.:-]+?)\]?(?::([0-9]+))?", server)
    return {"host": parts[1], "port": int(parts[2] or 443)} if parts and server != found else {}


def chosen(config: dict[str, Any]) -> dict[str, Any]:
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


def without_nothing(value: Any) -> Any:
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value


def delete_replaced_binding(snapshots: dict[str, list[Any]]) -> None:
    """Delete kubeadm's binding of an adopted kube-proxy; ours gives the same rights."""
    if snapshots["bindings"] and instance()["spec"].get("adopt"):
        kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}
        write("KUBERNETES_PATCH_PATH", {"operation": "Delete", **kind, "name": snapshots["bindings"][0]})


def instance() -> Any:
    """The KubeProxy object that this run is for."""
    path = os.environ.get("ADDON_OBJECT_PATH")
    return {"spec": {}, **read("ADDON_OBJECT_PATH")} if path else {"spec": {}}


def patch_of_spec(fields: dict[str, Any]) -> dict[str, object]:
    """The operation that sets fields in the spec of this run's object."""
    own = instance()
    names = {key: own["metadata"][key] for key in ("namespace", "name")}
    kind = {"apiVersion": own["apiVersion"], "kind": own["kind"]}
    return {"operation": "MergePatch", **kind, **names, "mergePatch": {"spec": fields}}


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
