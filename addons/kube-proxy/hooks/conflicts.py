#!/usr/bin/env python3
"""Reports in condition ConflictsWith what else handles Services in this cluster: Cilium, kube-router or Calico.

Each of them can replace kube-proxy, and is not obliged to notice that one runs. Two of them on a node fight for
the same connections, so the object is unhealthy until one is gone.
"""

import json
import os
import sys

CONFIG = """
configVersion: v1
beforeHelm: 20
kubernetes:
- name: cilium
  group: replacements
  kind: ConfigMap
  nameSelector: {matchNames: [cilium-config]}
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: .data["kube-proxy-replacement"] // ""
- name: daemonsets
  group: replacements
  apiVersion: apps/v1
  kind: DaemonSet
  nameSelector: {matchNames: [kube-router, calico-node]}
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  jqFilter: |
    {name: .metadata.name,
     args: [.spec.template.spec.containers[]? | (.command // []) + (.args // []) | .[]],
     bpf: ([.spec.template.spec.containers[]?.env[]? | select(.name == "FELIX_BPFENABLED").value][0] // "")}
"""


def main() -> None:
    with open(os.environ["BINDING_CONTEXT_PATH"]) as file:
        snapshots = json.load(file)[-1]["snapshots"]
    daemonsets = [entry["filterResult"] for entry in snapshots["daemonsets"]]
    replacements = {
        "Cilium": any(entry["filterResult"] in ("true", "strict") for entry in snapshots["cilium"]),
        # Its documentation: the service proxy runs unless it is turned off.
        "KubeRouter": any(
            daemonset["name"] == "kube-router" and "--run-service-proxy=false" not in daemonset["args"]
            for daemonset in daemonsets
        ),
        "Calico": any(
            daemonset["name"] == "calico-node" and daemonset["bpf"].lower() == "true" for daemonset in daemonsets
        ),
    }
    running = [name for name, runs in replacements.items() if runs]
    if running:
        report(running)


def report(running: list[str]) -> None:
    message = f"{' and '.join(running)} handles Services in place of kube-proxy: turn that off, or delete this object"
    print(message, file=sys.stderr)
    condition = {
        "type": "ConflictsWith",
        "status": "True",
        "reason": running[0],
        "message": message,
        "healthy": False,
    }
    with open(os.environ.get("CONDITIONS_PATH", os.devnull), "w") as file:
        json.dump(condition, file)


if __name__ == "__main__":
    print(CONFIG) if sys.argv[1:] == ["--config"] else main()
