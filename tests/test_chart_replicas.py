"""How many Pods of the chart there are, where they run, and what a drain may take.

Level: pure."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.chart import CHART, named
from tests.tables import each

TWO = "replicas=2,webhooks.admission=true"
FIRST = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "CoreDNS", "metadata": {"name": "default"}}


def template(helm: Path, flags: str, *more: str) -> dict[str, Any]:
    command = [str(helm), "template", "watch", str(CHART), "--set", flags, *more]
    return named(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_one_replica_is_replaced_before_the_next_one_starts_and_blocks_no_drain(helm: Path) -> None:
    found = template(helm, "webhooks.admission=true")
    spec = found["Deployment/watch-hookrunner"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert "topologySpreadConstraints" not in spec["template"]["spec"]
    assert "PodDisruptionBudget/watch-hookrunner" not in found


def test_several_replicas_are_spread_and_leave_one_at_a_time(helm: Path) -> None:
    found = template(helm, TWO)
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


def test_replicas_in_the_nodes_network_leave_their_ports_to_the_next_ones(helm: Path) -> None:
    spec = template(helm, f"{TWO},hostNetwork=true")["Deployment/watch-hookrunner"]["spec"]
    assert spec["strategy"] == {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}


@pytest.mark.slow
@each("flags", ["replicas=2", f"{TWO},modules.enabled=true", f"{TWO},addons.enabled=true"])
def test_what_must_run_once_has_no_second_replica(flags: str, helm: Path) -> None:
    done = subprocess.run([helm, "template", "watch", CHART, "--set", flags], capture_output=True, text=True)
    assert "or set replicas to 1" in done.stderr


@pytest.mark.slow
def test_a_changed_pod_of_the_first_objects_makes_another_job(helm: Path) -> None:
    """A Job cannot be changed: with the same name the upgrade would be refused."""
    jobs = set()
    for flags in ("port=9115", "priorityClassName=high", "nodeSelector.disk=ssd", "resources.limits.memory=1Gi"):
        objects = template(
            helm, f"addons.enabled=true,{flags}", "--set-json", f"addons.instances=[{json.dumps(FIRST)}]"
        )
        jobs |= {name for name in objects if name.startswith("Job/")}
    assert len(jobs) == 4


def test_the_way_out_is_limited_only_by_rules_that_are_given(helm: Path) -> None:
    policy = template(helm, "networkPolicy.egress[0].ports[0].port=6443")["NetworkPolicy/watch-hookrunner"]["spec"]
    assert (policy["policyTypes"], policy["egress"]) == (["Ingress", "Egress"], [{"ports": [{"port": 6443}]}])


def test_a_pod_of_the_nodes_network_stays_on_a_node_that_is_not_ready_yet(helm: Path) -> None:
    spec = template(helm, "hostNetwork=true")["Deployment/watch-hookrunner"]["spec"]["template"]["spec"]
    assert spec["tolerations"] == [
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
        {"key": "node.cloudprovider.kubernetes.io/uninitialized", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/network-unavailable", "operator": "Exists", "effect": "NoSchedule"},
    ]
