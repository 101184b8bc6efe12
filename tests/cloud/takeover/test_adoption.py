"""Which Nodes `cloud adopt` taints. Level: pure."""

from hookrunner.cloud.answers import InstanceAnswer, InstanceState
from hookrunner.cloud.takeover.adoption import adoptable_nodes, adoption_patch, why_left_out
from kubetypes.json_values import JSON
from tests.cloud.scenarios.documents import UNINITIALIZED

OTHER = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def node(name: str, spec: JSON, **metadata: str) -> JSON:
    created = {"uid": name, "creationTimestamp": "2026-11-23T00:00:00Z", "resourceVersion": "7"}
    return {"metadata": {"name": name, **created, **metadata}, "spec": spec}


def test_nodes_are_adopted_that_no_manager_would_initialise() -> None:
    nodes = [
        node("plain", {}),
        node("dedicated", {"taints": [OTHER]}),
        node("has-id", {"providerID": "sim://a"}),
        node("new", {"taints": [UNINITIALIZED]}),
        node("leaving", {}, deletionTimestamp="2026-11-23T00:00:00Z"),
    ]
    assert [obj["metadata"]["name"] for obj in adoptable_nodes(nodes)] == ["plain", "dedicated"]


def test_the_patch_keeps_other_taints_and_fails_on_a_changed_node() -> None:
    assert adoption_patch(node("dedicated", {"taints": [OTHER]})) == {
        "metadata": {"resourceVersion": "7"},
        "spec": {"taints": [OTHER, UNINITIALIZED]},
    }


def test_only_nodes_whose_machine_is_there_are_not_left_out() -> None:
    accepted = [state for state in InstanceState if not why_left_out(InstanceAnswer(state))]
    assert accepted == [InstanceState.RUNNING, InstanceState.SHUTDOWN]
