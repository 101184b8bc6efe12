#!/usr/bin/env python3
"""Finds what a DNS cache on a node has to know of the cluster: internal.clusterIP, .clusterDomain and .proxyMode.

The address is that of the Service kube-dns. Domain and mode stand in the settings that kubeadm keeps for kubelets and
kube-proxy; elsewhere they are what nearly all clusters have.
"""

import json
import os
import re
import sys

CONFIG = """
configVersion: v1
kubernetes:
- name: services
  group: all
  kind: Service
  namespace: {nameSelector: {matchNames: [kube-system]}}
  nameSelector: {matchNames: [kube-dns]}
  keepFullObjectsInMemory: false
  jqFilter: .spec.clusterIP // ""
- name: settings
  group: all
  kind: ConfigMap
  namespace: {nameSelector: {matchNames: [kube-system]}}
  nameSelector: {matchNames: [kubelet-config, kube-proxy]}
  keepFullObjectsInMemory: false
  jqFilter: '{(.metadata.name): (.data.kubelet // .data["config.conf"] // "")}'
"""
MODES = ("iptables", "nftables", "ipvs")


def main() -> None:
    with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
        snapshots = json.load(file)[-1]["snapshots"]  # of a group the last context says it all
    address = "".join(one["filterResult"] for one in snapshots["services"])
    settings = {name: text for one in snapshots["settings"] for name, text in one["filterResult"].items()}
    mode = setting("mode", settings.get("kube-proxy", ""))
    found = {
        "clusterIP": "" if address == "None" else address,
        "clusterDomain": setting("clusterDomain", settings.get("kubelet-config", "")).strip(".") or "cluster.local",
        "proxyMode": mode if mode in MODES else "iptables",
    }
    with open(os.environ["VALUES_JSON_PATCH_PATH"], "w") as patch:
        json.dump({"op": "add", "path": "/nodeLocalDns/internal", "value": found}, patch)


def setting(name: str, text: str) -> str:
    """A setting at the top of a YAML document, empty if it is not there."""
    found = re.search(rf"^{name}: *[\"']?([\w.-]+)", text, re.MULTILINE)
    return found[1] if found else ""


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
