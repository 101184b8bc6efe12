#!/usr/bin/env python3
"""Warns in a condition if kubelets sign their own certificates and metrics-server is to verify them.

kubeadm keeps the kubelets' configuration in `kube-system/kubelet-config`. Without `serverTLSBootstrap` no kubelet has a
certificate of the cluster's authority (https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/),
every request to them fails, and the APIService stays unavailable. Other clusters have no such ConfigMap: no condition.
"""

import json
import os
import re
import sys

CONFIG = """
configVersion: v1
beforeHelm: 10
kubernetes:
- name: kubelets
  group: cluster
  kind: ConfigMap
  namespace: {nameSelector: {matchNames: [kube-system]}}
  nameSelector: {matchNames: [kubelet-config]}
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: .data.kubelet // ""
"""

SELF_SIGNED = {
    "type": "KubeletCertificatesVerifiable",
    "status": "False",
    "reason": "SelfSigned",
    "message": (
        "kubelets sign their own certificates (no serverTLSBootstrap in ConfigMap kube-system/kubelet-config): "
        "set spec.kubelet.insecureTLS, or let the cluster sign them"
    ),
    "healthy": True,
}


def main() -> None:
    with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
        kubelets = [entry["filterResult"] for entry in json.load(file)[-1]["snapshots"]["kubelets"]]
    with open(os.environ["VALUES_PATH"]) as file:
        insecure = json.load(file)["metricsServer"]["kubelet"]["insecureTLS"]
    if not insecure and any(is_self_signed(kubelet) for kubelet in kubelets):
        print(SELF_SIGNED["message"], file=sys.stderr)
        with open(os.environ.get("CONDITIONS_PATH", os.devnull), "w") as file:
            json.dump(SELF_SIGNED, file)


def is_self_signed(kubelet: str) -> bool:
    """Does this KubeletConfiguration leave certificates to the kubelets?"""
    return not re.search(r"^serverTLSBootstrap:[ \t]*true\b", kubelet, re.MULTILINE)


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
