#!/usr/bin/env python3
"""Decides the cluster's domain, the address of its DNS Service and the Corefile: `internal` of the values.

Fields of the spec win, then `global.dns`, then what the cluster shows. With `adopt`, the Corefile of a CoreDNS that is
not ours yet is copied into the spec, where its user sees and keeps it; so is the number of its Pods if a chart has set
it. That is a field of Helm's, and an object that is adopted loses those of them that the package does not have.
"""

import json
import os
import re
import sys
from ipaddress import AddressValueError, ip_address
from typing import Any

CONFIG = """
configVersion: v1
settings:
  permissions:   # to adopt what another client has installed
  - {apiGroups: [addons.x-k8s.io], resources: [coredns], verbs: [patch]}
beforeHelm: 10
kubernetes:
- name: services
  group: cluster
  kind: Service
  namespace: {nameSelector: {matchNames: [kube-system, default]}}
  nameSelector: {matchNames: [kube-dns, kubernetes]}
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: '{name: (.metadata.namespace + "/" + .metadata.name), ip: (.spec.clusterIP // "")}'
- name: kubelets
  group: cluster
  kind: ConfigMap
  namespace: {nameSelector: {matchNames: [kube-system]}}
  nameSelector: {matchNames: [kubelet-config]}
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: .data.kubelet // ""
- name: deployments
  group: cluster
  kind: Deployment
  apiVersion: apps/v1
  namespace: {nameSelector: {matchNames: [kube-system]}}
  nameSelector: {matchNames: [coredns]}
  executeHookOnEvent: []
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: |
    {ours: (.metadata.labels // {} | has("hookrunner.io/addon")),
     replicas: (if .metadata.annotations["meta.helm.sh/release-name"]? then .spec.replicas else null end),
     config: ([.spec.template.spec.volumes[]? | select(.name == "config-volume").configMap.name][0] // "coredns")}
- name: configs
  group: cluster
  kind: ConfigMap
  namespace: {nameSelector: {matchNames: [kube-system]}}
  executeHookOnEvent: []
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: '{name: .metadata.name, corefile: (.data.Corefile // "")}'
"""


def main() -> None:
    snapshots = {
        name: [entry.get("filterResult") for entry in entries]
        for name, entries in read("BINDING_CONTEXT_PATH")[-1]["snapshots"].items()
    }
    values = read("VALUES_PATH")
    own, shared = values["coredns"], (values.get("global") or {}).get("dns") or {}
    kubelet = "".join(snapshots["kubelets"])
    adopted = {
        "corefile": "" if own.get("corefile") else adopted_corefile(snapshots["deployments"], snapshots["configs"]),
        "replicas": 0 if own.get("replicas") else adopted_replicas(snapshots["deployments"]),
    }
    internal = {
        "domain": own.get("dnsDomain") or shared.get("domain") or kubelet_domain(kubelet) or "cluster.local",
        "serviceIP": own.get("dnsIP") or shared.get("serviceIP") or detect_address(snapshots["services"], kubelet),
        **{name: own.get(name) or value for name, value in adopted.items()},
    }
    write("VALUES_JSON_PATCH_PATH", {"op": "add", "path": "/coredns/internal", "value": internal})
    if copied := {name: value for name, value in adopted.items() if value}:
        write("KUBERNETES_PATCH_PATH", patch_of_spec(copied))


def read(variable: str) -> Any:
    with open(os.environ[variable]) as file:
        return json.load(file)


def write(variable: str, document: object) -> None:
    with open(os.environ[variable], "w") as file:
        json.dump(document, file)


def detect_address(services: list[dict[str, str]], kubelet: str) -> str:
    """The address of the DNS Service; empty if nothing in the cluster tells one. Exits if an address is unusable."""
    addresses = {service["name"]: service["ip"] for service in services}
    if current := addresses.get("kube-system/kube-dns"):
        return checked(current, "kube-system/kube-dns")
    for text in kubelet_addresses(kubelet):
        if not ip_address(text).is_link_local:  # that would be a cache on the node
            return text
    first = addresses.get("default/kubernetes")
    return tenth_address(checked(first, "default/kubernetes")) if first else ""


def checked(address: str, service: str) -> str:
    """The address; a headless Service (`None`) has none."""
    try:
        return str(ip_address(address))
    except ValueError:
        sys.exit(f"Service {service} has the clusterIP {address!r}, which is no address: set spec.dnsIP")


def tenth_address(first: str) -> str:
    """kubeadm gives the DNS Service the tenth address of the range; `default/kubernetes` always has the first."""
    try:
        return str(ip_address(first) + 9)
    except AddressValueError:
        sys.exit(f"no tenth Service address after {first} of Service default/kubernetes: set spec.dnsIP")


def kubelet_addresses(kubelet: str) -> list[str]:
    """`clusterDNS` of a KubeletConfiguration, in either style of YAML."""
    setting = re.search(r"^clusterDNS:[ \t]*(\[[^\]]*\]|(?:\n[ \t]*- .*)+)", kubelet, re.MULTILINE)
    words = re.findall(r"[0-9a-fA-F.:]*[.:][0-9a-fA-F.:]+", setting[1]) if setting else []
    return [str(ip_address(word)) for word in words if is_address(word)]


def is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def kubelet_domain(kubelet: str) -> str:
    setting = re.search(r"^clusterDomain:[ \t]*[\"']?([a-z0-9.-]+)", kubelet, re.MULTILINE)
    return setting[1].strip(".") if setting else ""


def adopted_corefile(deployments: list[dict[str, Any]], configs: list[dict[str, str]]) -> str:
    """The Corefile of a foreign CoreDNS that is about to be adopted; empty without one."""
    if not is_adopting(deployments):
        return ""
    name = deployments[0]["config"]
    corefiles = {config["name"]: config["corefile"] for config in configs}
    if name in corefiles and not corefiles[name]:
        sys.exit(f"ConfigMap kube-system/{name} of the CoreDNS to adopt has no key Corefile: set spec.corefile")
    return corefiles.get(name, "")


def adopted_replicas(deployments: list[dict[str, Any]]) -> int:
    """The number of Pods that a chart has set; 0 without one, as of kubeadm, whose fields stay."""
    return (deployments[0]["replicas"] or 0) if is_adopting(deployments) else 0


def is_adopting(deployments: list[dict[str, Any]]) -> bool:
    return bool(instance()["spec"].get("adopt") and deployments and not deployments[0]["ours"])


def instance() -> Any:
    """The CoreDNS object that this run is for."""
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
