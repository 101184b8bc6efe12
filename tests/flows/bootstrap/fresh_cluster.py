"""A cluster as `kubeadm init --skip-phases=addon` leaves it: Nodes that are neither ready nor initialised, no
kube-proxy, no DNS, no network of Pods. Controllers and scheduler are real; kwok plays the kubelets."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml

from kubetypes.json_values import JSON
from tests.controlplane.build import Binaries, find_binaries
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.control_plane import ControlPlane

UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
NETWORK = "example.com/network"
"""An annotation of a Node whose kubelet has found a network plugin."""


READY_WITH_NETWORK = f"""
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: node-ready}}
spec:
  resourceRef: {{apiGroup: v1, kind: Node}}
  selector:
    matchExpressions:
    - {{key: '.metadata.annotations["{NETWORK}"]', operator: Exists}}
    - {{key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: NotIn, values: ["True"]}}
  next:
    statusTemplate: |
      conditions:
      - {{type: Ready, status: "True", reason: KubeletReady, message: the network plugin is there}}
"""

READY_AGAIN = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-ready-again}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: '.metadata.deletionTimestamp', operator: DoesNotExist}
    - {key: '.status.phase', operator: In, values: [Running]}
    - {key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: In, values: ["False"]}
  delay: {durationMilliseconds: 1000}
  next:
    statusTemplate: |
      conditions:
      - {type: Ready, status: "True", lastTransitionTime: {{ Now | Quote }}}
"""
"""For some seconds after a Node is ready, the controller of nodes sets Pods on it to not ready, by its last look at the
Node. A kubelet repeats what it knows; kwok would not."""


def node(name: str, *, control_plane: bool = False) -> JSON:
    """A Node as a kubelet with `--cloud-provider=external` registers it before there is a network of Pods."""
    taints = [{"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}]
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    if control_plane:
        taints.append({"key": CONTROL_PLANE, "effect": "NoSchedule"})
        labels[CONTROL_PLANE] = ""
    ready = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": "cni plugin not initialized"}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {"conditions": [ready], "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }


@contextmanager
def fresh_cluster(directory: Path) -> Iterator[OwnCluster]:
    """The control plane, and what kubeadm has written into it; without a Node."""
    with ControlPlane(_kubelets_without_network(directory), directory, controllers=True) as plane:
        cluster = OwnCluster(plane, directory)
        cluster.request("DELETE", "/api/v1/nodes/fake")
        for path, obj in _written_by_kubeadm(cluster.url).items():
            cluster.create(path, obj)
        yield cluster


def _kubelets_without_network(directory: Path) -> Binaries:
    """The programs, with kubelets that report Ready only on a Node with the annotation, and no addresses of Nodes:
    these are the cloud's."""
    found = find_binaries()
    (changed := directory / "programs" / "stages").mkdir(parents=True)
    for program in found.directory.iterdir():
        if program.is_file():
            (changed.parent / program.name).symlink_to(program)
    for file in found.stages():
        if not file.name.startswith("node-"):
            (changed / file.name).symlink_to(file)
    (changed / "node-ready.yaml").write_text(READY_WITH_NETWORK)
    (changed / "pod-ready-again.yaml").write_text(READY_AGAIN)
    return Binaries(changed.parent)


def _written_by_kubeadm(server: str) -> Mapping[str, JSON]:
    kubeconfig = {"clusters": [{"name": "", "cluster": {"server": server}}]}
    kubelet = {"clusterDNS": ["10.96.0.10"], "clusterDomain": "cluster.local"}
    system = "/api/v1/namespaces/kube-system/configmaps"
    return {
        "/api/v1/namespaces/kube-public/configmaps": _config("cluster-info", kubeconfig=yaml.safe_dump(kubeconfig)),
        f"{system}?": _config("kubelet-config", kubelet=json.dumps(kubelet)),
    }


def _config(name: str, **data: str) -> JSON:
    return {"metadata": {"name": name}, "data": data}
