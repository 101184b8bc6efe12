#!/usr/bin/env python3
"""Warns in a condition if kubelets sign their own certificates and metrics-server is to verify them.

kubeadm keeps the kubelets' configuration in `kube-system/kubelet-config`. Without `serverTLSBootstrap` no kubelet has a
certificate of the cluster's authority (https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/),
every request to them fails, and the APIService stays unavailable. Other clusters have no such ConfigMap: no condition.
"""

import sys

from hookrunner.sdk import Hook
from hookrunner.sdk.cluster_facts import line_of, watch

MESSAGE = (
    "kubelets sign their own certificates (no serverTLSBootstrap in ConfigMap kube-system/kubelet-config): "
    "set spec.kubelet.insecureTLS, or let the cluster sign them"
)

hook = Hook()
watch(hook, "cluster", "kubelets")


@hook.before_helm(order=10)
@hook.group("cluster")
def warn(snapshots, values, conditions):
    self_signed = [text for text in snapshots["kubelets"].results if line_of("serverTLSBootstrap", text) != "true"]
    if self_signed and not values.get("metricsServer.kubelet.insecureTLS"):
        print(MESSAGE, file=sys.stderr)
        conditions.set("KubeletCertificatesVerifiable", "False", "SelfSigned", MESSAGE)


hook.run()
