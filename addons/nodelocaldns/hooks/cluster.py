#!/usr/bin/env python3
"""Decides on which addresses the cache listens and which servers it asks: `internal` of the values.

With iptables and nftables it takes over the address of the DNS Service on its node, and Pods need no change. kube-proxy
in mode ipvs holds that address itself: the cache has only its local address then, and kubelets have to write that into
Pods, which a condition says until they do (https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/).
"""

import json
import os
import re
import sys
from ipaddress import ip_address
from typing import Any

CONFIG = """
configVersion: v1
beforeHelm: 10
kubernetes:
- name: services
  group: cluster
  kind: Service
  namespace: {nameSelector: {matchNames: [kube-system]}}
  nameSelector: {matchNames: [kube-dns]}
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: .spec.clusterIP // ""
- name: settings
  group: cluster
  kind: ConfigMap
  namespace: {nameSelector: {matchNames: [kube-system]}}
  nameSelector: {matchNames: [kubelet-config, kube-proxy]}
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: '{name: .metadata.name, text: (.data.kubelet // .data["config.conf"] // "")}'
"""
FOUND_BY_THE_CACHE = ("__PILLAR__CLUSTER__DNS__", "__PILLAR__UPSTREAM__SERVERS__")
"""node-cache replaces these by the address of kube-dns-upstream and by the servers of the node's resolv.conf."""


def main() -> None:
    snapshots = {
        name: [entry.get("filterResult") for entry in entries]
        for name, entries in read("BINDING_CONTEXT_PATH")[-1]["snapshots"].items()
    }
    values = read("VALUES_PATH")
    own, shared = values["nodelocaldns"], (values.get("global") or {}).get("dns") or {}
    settings = {setting["name"]: setting["text"] for setting in snapshots["settings"]}
    kubelet, local = settings.get("kubelet-config", ""), own["localIP"]
    server = own.get("clusterIP") or own.get("dnsIP") or shared.get("serviceIP") or address_of(snapshots["services"])
    is_ipvs = line_of("mode", settings.get("kube-proxy", "")) == "ipvs"
    addresses = [local] if is_ipvs else [local, server]
    internal = {
        "domain": own.get("dnsDomain") or shared.get("domain") or kubelet_domain(kubelet),
        "addresses": " ".join(addresses),
        "listen": ",".join(addresses),
        "healthAddress": f"[{local}]" if ":" in local else local,
        "clusterServers": server if is_ipvs else FOUND_BY_THE_CACHE[0],
        "upstreams": " ".join(shared.get("upstreams") or FOUND_BY_THE_CACHE[1:]),
        "stubDomains": stub_domains(shared.get("stubDomains") or {}, addresses),
    }
    write("VALUES_JSON_PATCH_PATH", {"op": "add", "path": "/nodelocaldns/internal", "value": internal})
    if is_ipvs and local not in kubelet:
        report_kubelets(local)


def read(variable: str) -> Any:
    with open(os.environ[variable]) as file:
        return json.load(file)


def write(variable: str, document: object) -> None:
    with open(os.environ[variable], "w") as file:
        json.dump(document, file)


def address_of(services: list[str]) -> str:
    """The address of the Service kube-dns. Exits without one."""
    try:
        return str(ip_address(services[0]))
    except IndexError:
        sys.exit("no Service kube-system/kube-dns to be a cache for: install CoreDNS, or set spec.clusterIP")
    except ValueError:
        sys.exit(f"Service kube-system/kube-dns has the clusterIP {services[0]!r}, no address: set spec.clusterIP")


def kubelet_domain(kubelet: str) -> str:
    return line_of("clusterDomain", kubelet).strip(".") or "cluster.local"


def line_of(key: str, text: str) -> str:
    """A setting at the top of a YAML document; empty if it is not there."""
    line = re.search(rf"^{key}:[ \t]*[\"']?([\w.-]+)", text, re.MULTILINE)
    return line[1] if line else ""


def stub_domains(domains: dict[str, list[str]], addresses: list[str]) -> str:
    """A server block for each domain that has servers of its own."""
    lines = ("errors", "cache 30", "reload", "loop", f"bind {' '.join(addresses)}", "prometheus :9253")
    return "\n".join(
        f"{domain}:53 {{\n    " + "\n    ".join((*lines, f"forward . {' '.join(servers)}")) + "\n}"
        for domain, servers in sorted(domains.items())
    )


def report_kubelets(local: str) -> None:
    """Say in a condition that Pods do not use the cache yet."""
    message = f"kube-proxy has mode ipvs: set clusterDNS of the kubelets to {local}, else Pods do not use the cache"
    print(message, file=sys.stderr)
    condition = {
        "type": "KubeletsUseCache",
        "status": "False",
        "reason": "ClusterDNS",
        "message": message,
        "healthy": True,
    }
    with open(os.environ.get("CONDITIONS_PATH", os.devnull), "w") as file:
        json.dump(condition, file)


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
