"""The bench against the engine: the same hook, objects and happenings lead to the same contexts."""

import json
from contextlib import suppress
from typing import Any

import pytest

from hookrunner.hooks.run import rendered
from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from hookrunner.model.bindings import Change
from hookrunner.model.resources import key_of
from hookrunner.testing.happenings import Changed, Given, Happening, NotRun, Startup, Synchronization
from hookrunner.testing.plan import plan
from tests.engine.conftest import Bench as Operator
from tests.engine.conftest import bench, client, jq
from tests.fakes.cluster import configmap, namespace

__all__ = ["bench", "client", "jq"]

CONFIGS: list[dict[str, Any]] = [
    {"kubernetes": [{"name": "cms", "kind": "ConfigMap"}]},
    {"kubernetes": [{"name": "cms", "kind": "ConfigMap", "jqFilter": ".data.x"}]},
    {"kubernetes": [{"name": "cms", "kind": "ConfigMap", "jqFilter": "{v: .data | length}"}]},
    {"kubernetes": [{"name": "cms", "kind": "ConfigMap", "jqFilter": ".data", "keepFullObjectsInMemory": False}]},
    {"kubernetes": [{"name": "cms", "kind": "ConfigMap", "includeSnapshotsFrom": ["cms"]}]},
    {"kubernetes": [{"name": "cms", "kind": "ConfigMap", "executeHookOnEvent": ["Deleted"]}]},
    {"kubernetes": [{"name": "cms", "kind": "ConfigMap", "executeHookOnSynchronization": False}]},
    {"kubernetes": [{"name": "cms", "kind": "ConfigMap", "nameSelector": {"matchNames": ["b"]}}]},
    {"kubernetes": [{"name": "cms", "kind": "ConfigMap", "labelSelector": {"matchLabels": {"l": "1"}}}]},
    {
        "kubernetes": [
            {"name": "cms", "kind": "ConfigMap", "group": "g"},
            {"name": "ns", "kind": "Namespace", "group": "g"},
        ]
    },
    {"onStartup": 1, "kubernetes": [{"name": "cms", "kind": "ConfigMap", "jqFilter": ".metadata.labels"}]},
]
A, B, SAME, C = configmap("a", x="1"), configmap("b", x="2"), configmap("a", x="1", y="0"), configmap("c", x="3")
C["metadata"]["labels"] = {"l": "1"}
CHANGES = [
    Changed(Change.ADDED, C, binding="cms"),
    Changed(Change.MODIFIED, SAME, binding="cms"),
    Changed(Change.MODIFIED, configmap("b", x="9"), binding="cms"),
    Changed(Change.DELETED, SAME, binding="cms"),
]


async def in_an_operator(operator: Operator, config: dict[str, Any], jq: Jq, client: Client) -> list[Any]:
    """The contexts of its runs; each change is made when the one before is settled."""
    for obj in (A, B, namespace("n")):
        operator.cluster.put(obj)
    operator.hook("h.sh", {"settings": {"combine": False}, **config})
    await operator.start(jq, client)
    for change in CHANGES:
        await operator.idle()
        (operator.cluster.delete if change.change is Change.DELETED else operator.cluster.put)(change.obj)
    await operator.idle()
    return [_without_versions(context) for run in operator.runs("h.sh") for context in run]


async def on_the_bench(operator: Operator, jq: Jq) -> list[Any]:
    """The contexts of the same happenings, each for itself, among the objects as they have become."""
    hook = operator.engine.hooks["h.sh"]
    synchronizations = [Synchronization(f"kubernetes[{place}]") for place in range(len(hook.config.kubernetes))]
    happenings: list[Happening] = [Startup(), *synchronizations, *CHANGES]
    objects: tuple[Any, ...] = (A, B, namespace("n"))
    found: list[Any] = []
    for happening in happenings:
        with suppress(NotRun):
            planned = await plan(hook, Given(objects), [happening], jq)
            found += json.loads(b"".join(rendered(hook, planned.contexts, planned.snapshots)))
        if isinstance(happening, Changed):
            others = tuple(obj for obj in objects if key_of(obj) != key_of(happening.obj))
            objects = others if happening.change is Change.DELETED else (*others, happening.obj)
    return found


def _without_versions(value: Any) -> Any:
    """The fake cluster counts, the bench does not."""
    if isinstance(value, dict):
        return {key: _without_versions(item) for key, item in value.items() if key != "resourceVersion"}
    return [_without_versions(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("config", CONFIGS, ids=str)
async def test_the_contexts_are_those_of_a_running_operator(
    config: dict[str, Any], bench: Operator, jq: Jq, client: Client
) -> None:
    expected = await in_an_operator(bench, config, jq, client)
    assert expected
    assert await on_the_bench(bench, jq) == expected
