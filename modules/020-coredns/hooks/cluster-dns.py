#!/usr/bin/env python3
"""Finds the DNS address and domain that Pods of this cluster use: internal.clusterIP and .clusterDomain.

The address is, by the first that says one: the Service kube-dns; kubeadm's settings of the kubelets (unless they name a
cache on the node); the tenth Service address, counted from that of the Service kubernetes, which has the first.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from ipaddress import ip_address

CONFIG = """
configVersion: v1
kubernetes:
- name: services
  group: all
  kind: Service
  namespace: {nameSelector: {matchNames: [kube-system, default]}}
  nameSelector: {matchNames: [kube-dns, kubernetes]}
  keepFullObjectsInMemory: false
  jqFilter: '{name: (.metadata.namespace + "/" + .metadata.name), ip: (.spec.clusterIP // "")}'
- name: kubelets
  group: all
  kind: ConfigMap
  namespace: {nameSelector: {matchNames: [kube-system]}}
  nameSelector: {matchNames: [kubelet-config]}
  keepFullObjectsInMemory: false
  jqFilter: .data.kubelet // ""
"""


def main() -> None:
    with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
        snapshots = json.load(file)[-1]["snapshots"]  # of a group the last context says it all
    services = {one["filterResult"]["name"]: one["filterResult"]["ip"] for one in snapshots["services"]}
    kubelet = "".join(one["filterResult"] for one in snapshots["kubelets"])
    found = {"clusterIP": next(addresses(services, kubelet), ""), "clusterDomain": domain(kubelet)}
    with open(os.environ["VALUES_JSON_PATCH_PATH"], "w") as patch:
        json.dump({"op": "add", "path": "/coredns/internal", "value": found}, patch)


def addresses(services: dict[str, str], kubelet: str) -> Iterator[str]:
    """What the Service's address may be, the likeliest first."""
    if is_address(there := services.get("kube-system/kube-dns", "")):
        yield there
    for told in re.findall(r"^clusterDNS:\s*\n\s*- *[\"']?([0-9a-fA-F.:]+)", kubelet, re.MULTILINE):
        if is_address(told) and not ip_address(told).is_link_local:
            yield told
    if is_address(first := services.get("default/kubernetes", "")):
        yield str(ip_address(first) + 9)


def is_address(text: str) -> bool:
    """A Service may have none, or `None`."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def domain(kubelet: str) -> str:
    found = re.search(r"^clusterDomain: *[\"']?([a-z0-9.-]+)", kubelet, re.MULTILINE)
    return found[1].strip(".") if found else "cluster.local"


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
