#!/usr/bin/env python3
"""Reports in condition ConflictsWith what else handles Services in this cluster: Cilium, kube-router or Calico.

Each of them can replace kube-proxy, and is not obliged to notice that one runs. Two of them on a node fight for
the same connections, so the object is unhealthy until one is gone.
"""

import sys

from hookrunner.sdk import Hook

hook = Hook()
hook.watch(
    "v1/ConfigMap",
    "cilium",
    group="replacements",
    names=["cilium-config"],
    synchronization=False,
    jq_filter='.data["kube-proxy-replacement"] // ""',
)
hook.watch(
    "apps/v1/DaemonSet",
    "daemonsets",
    group="replacements",
    names=["kube-router", "calico-node"],
    synchronization=False,
    jq_filter="""
    {name: .metadata.name,
     args: [.spec.template.spec.containers[]? | (.command // []) + (.args // []) | .[]],
     bpf: ([.spec.template.spec.containers[]?.env[]? | select(.name == "FELIX_BPFENABLED").value][0] // "")}
    """,
)


@hook.before_helm(order=20)
@hook.group("replacements")
def report(snapshots, conditions):
    daemonsets = snapshots["daemonsets"].results
    replacements = {
        "Cilium": any(replacement in ("true", "strict") for replacement in snapshots["cilium"].results),
        # Its documentation: the service proxy runs unless it is turned off.
        "KubeRouter": any(
            daemonset["name"] == "kube-router" and "--run-service-proxy=false" not in daemonset["args"]
            for daemonset in daemonsets
        ),
        "Calico": any(
            daemonset["name"] == "calico-node" and daemonset["bpf"].lower() == "true" for daemonset in daemonsets
        ),
    }
    if running := [name for name, runs in replacements.items() if runs]:
        handles = f"{' and '.join(running)} handles Services in place of kube-proxy"
        message = f"{handles}: turn that off, or delete this object"
        print(message, file=sys.stderr)
        conditions.set("ConflictsWith", "True", running[0], message, healthy=False)


hook.run()
