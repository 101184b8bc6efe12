"""Priorities of Pods: from their class, from the default class, from the system's; refusals as of a real server.

Level: control plane."""

from typing import Any

import pytest

from kubesandbox.builtin.strategy import prioritised
from kubesandbox.status import Refused
from tests.kubesandbox.builtin.ours import Object, theirs
from tests.kubesandbox.oracle import Oracle
from tests.tables import each

HIGH = {"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"}
USUAL = {"metadata": {"name": "usual"}, "value": 3, "globalDefault": True}


def pod(**spec: Any) -> Object:
    return {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@each(
    ("spec", "classes", "priority", "policy"),
    [
        ({}, [], 0, "PreemptLowerPriority"),
        ({}, [HIGH, USUAL], 3, "PreemptLowerPriority"),
        ({"priorityClassName": "high"}, [HIGH, USUAL], 7, "Never"),
        ({"priorityClassName": "system-node-critical"}, [], 2_000_001_000, "PreemptLowerPriority"),
        ({"priorityClassName": "high", "priority": 7}, [HIGH], 7, "Never"),
    ],
)
def test_a_pod_gets_what_its_class_says(spec: Object, classes: list[Object], priority: int, policy: str) -> None:
    made = prioritised(pod(**spec), classes)["spec"]
    assert (made["priority"], made["preemptionPolicy"]) == (priority, policy)


def test_the_default_class_is_named() -> None:
    assert prioritised(pod(), [USUAL])["spec"]["priorityClassName"] == "usual"


@each("spec", [{"priorityClassName": "none-such"}, {"priority": 5}, {"preemptionPolicy": "Never"}])
def test_a_pod_that_asks_for_what_it_cannot_have_is_refused(oracle: Oracle, spec: Object) -> None:
    code, body = theirs(oracle, {"apiVersion": "v1", "kind": "Pod", **pod(**spec)})
    with pytest.raises(Refused) as refused:
        prioritised(pod(**spec), [])
    assert (refused.value.code, refused.value.message) == (code, body["message"])
