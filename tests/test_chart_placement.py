"""On which Nodes of a new cluster the scheduler may put the Pods that bring it up, by the taints that such Nodes have.

The Pods are those of the renderings that other tests compare with the templates.

Level: pure."""

from functools import cache
from pathlib import Path

import yaml

from kubetypes.json_values import JSON
from tests.tables import each

ROOT = Path(__file__).parents[1]
PODS = {
    "hookrunner": ("tests/rendered_charts/modules-and-addons.yaml", "Deployment"),
    "first objects": ("tests/rendered_charts/modules-and-addons.yaml", "Job"),
    "hookrunner, in the network of Pods": ("tests/rendered_charts/defaults.yaml", "Deployment"),
    "kube-proxy": ("addons/kube-proxy/tests/default.out.yaml", "DaemonSet"),
    "cloud controller manager": ("addons/cloud-controller-manager/tests/default.out.yaml", "DaemonSet"),
    "CoreDNS": ("addons/coredns/tests/default.out.yaml", "Deployment"),
}
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
NOT_READY = [("node.kubernetes.io/not-ready", "NoSchedule"), ("node.kubernetes.io/not-ready", "NoExecute")]
UNINITIALIZED = [("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule")]
NO_ROUTE = [("node.kubernetes.io/network-unavailable", "NoSchedule")]
STAGES = {
    "registered": UNINITIALIZED + NOT_READY,
    "initialised": NOT_READY,
    "ready, not initialised": UNINITIALIZED,
    "ready, without a route": NO_ROUTE,
    "in use": [],
}
EARLY = {"hookrunner", "first objects", "kube-proxy", "cloud controller manager"}


@cache
def spec_of(pod: str) -> JSON:
    """The Pod's spec in the rendering."""
    path, kind = PODS[pod]
    (found,) = (obj for obj in yaml.safe_load_all((ROOT / path).read_text()) if obj and obj["kind"] == kind)
    return found["spec"]["template"]["spec"]


def tolerates(spec: JSON, taint: tuple[str, str]) -> bool:
    """Is one of the tolerations for the taint, and for good? A toleration without a key is for all of them."""
    key, effect = taint
    return any(
        toleration.get("key", key) == key
        and toleration.get("effect", effect) == effect
        and "tolerationSeconds" not in toleration
        for toleration in spec.get("tolerations", [])
    )


def placed(stage: str, role: list[tuple[str, str]]) -> set[str]:
    """The Pods that fit a Node with these taints."""
    return {pod for pod in PODS if all(tolerates(spec_of(pod), taint) for taint in STAGES[stage] + role)}


@each(
    ("stage", "others"),
    [
        ("registered", set()),
        ("initialised", set()),
        ("ready, not initialised", set()),
        ("ready, without a route", set()),
        ("in use", {"CoreDNS", "hookrunner, in the network of Pods"}),
    ],
)
def test_what_brings_the_cluster_up_fits_each_node_at_each_stage(stage: str, others: set[str]) -> None:
    assert placed(stage, []) == EARLY | others
    control_plane = [(CONTROL_PLANE, "NoSchedule")]
    assert placed(stage, control_plane) == EARLY | (others & {"CoreDNS"})


@each("pod", sorted(EARLY))
def test_what_brings_the_cluster_up_needs_neither_services_nor_a_network_of_pods(pod: str) -> None:
    """`ClusterFirst` means the node's names for a Pod of the node's network."""
    spec = spec_of(pod)
    assert (spec["hostNetwork"], spec.get("dnsPolicy") == "ClusterFirstWithHostNet") == (True, False)


def test_the_cloud_controller_manager_is_on_control_planes_alone() -> None:
    (term,) = spec_of("cloud controller manager")["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    assert term == {"matchExpressions": [{"key": CONTROL_PLANE, "operator": "Exists"}]}
