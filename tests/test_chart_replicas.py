"""How many Pods of the chart there are, where they run, and what a drain may take.

Level: pure."""

import json
from typing import Any

import pytest

from tests.fakes.chart import named, read_refusal, render_chart
from tests.tables import each

TWO = "replicas=2,webhooks.admission=true"
FIRST = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "CoreDNS", "metadata": {"name": "default"}}


def template(flags: str, *more: str) -> dict[str, Any]:
    return named(render_chart("--set", flags, *more))


def test_one_replica_is_replaced_before_the_next_one_starts_and_blocks_no_drain() -> None:
    found = template("webhooks.admission=true")
    spec = found["Deployment/watch-hookrunner"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert "topologySpreadConstraints" not in spec["template"]["spec"]
    assert "PodDisruptionBudget/watch-hookrunner" not in found


def test_several_replicas_are_spread_and_leave_one_at_a_time() -> None:
    found = template(TWO)
    spec = found["Deployment/watch-hookrunner"]["spec"]
    assert (spec["replicas"], "strategy" in spec) == (2, False)
    [constraint] = spec["template"]["spec"]["topologySpreadConstraints"]
    assert (constraint["topologyKey"], constraint["labelSelector"]) == ("kubernetes.io/hostname", spec["selector"])
    budget = found["PodDisruptionBudget/watch-hookrunner"]["spec"]
    assert budget == {
        "maxUnavailable": 1,
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
        "selector": spec["selector"],
    }


def test_replicas_in_the_nodes_network_leave_their_ports_to_the_next_ones() -> None:
    spec = template(f"{TWO},hostNetwork=true")["Deployment/watch-hookrunner"]["spec"]
    assert spec["strategy"] == {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}


@pytest.mark.slow
@each("flags", ["replicas=2", f"{TWO},modules.enabled=true", f"{TWO},addons.enabled=true"])
def test_what_must_run_once_has_no_second_replica(flags: str) -> None:
    assert "or set replicas to 1" in read_refusal("--set", flags)


@pytest.mark.slow
def test_a_changed_pod_of_the_first_objects_makes_another_job() -> None:
    """A Job cannot be changed: with the same name the upgrade would be refused."""
    jobs = set()
    for flags in ("port=9115", "priorityClassName=high", "nodeSelector.disk=ssd", "resources.limits.memory=1Gi"):
        objects = template(f"addons.enabled=true,{flags}", "--set-json", f"addons.instances=[{json.dumps(FIRST)}]")
        jobs |= {name for name in objects if name.startswith("Job/")}
    assert len(jobs) == 4


def test_the_way_out_is_limited_only_by_rules_that_are_given() -> None:
    policy = template("networkPolicy.egress[0].ports[0].port=6443")["NetworkPolicy/watch-hookrunner"]["spec"]
    assert (policy["policyTypes"], policy["egress"]) == (["Ingress", "Egress"], [{"ports": [{"port": 6443}]}])


def test_a_pod_of_the_nodes_network_stays_on_a_node_that_is_not_ready_yet() -> None:
    spec = template("hostNetwork=true")["Deployment/watch-hookrunner"]["spec"]["template"]["spec"]
    assert spec["tolerations"] == [
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
        {"key": "node.cloudprovider.kubernetes.io/uninitialized", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/network-unavailable", "operator": "Exists", "effect": "NoSchedule"},
    ]
