"""The bench against the engine: the same hook, objects and happenings lead to the same contexts. Level: sandbox."""

import json
from contextlib import suppress
from typing import Any

import pytest

from hookrunner.engine import dispatch
from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from hookrunner.model.bindings import Change, Hook
from hookrunner.model.events import Ticked
from hookrunner.model.hook_runs import Run
from hookrunner.model.resources import key_of
from hookrunner.testing.happenings import Changed, Given, Happening, NotRun, Startup, Synchronization, Tick
from hookrunner.testing.plan import plan_run
from tests.engine.conftest import Bench as Operator
from tests.engine.conftest import bench, client, jq
from tests.fakes.cluster import namespace, settle, until
from tests.fakes.objects import config_map, with_uid

__all__ = ["bench", "client", "jq"]


def watching(**keys: Any) -> dict[str, Any]:
    return {"name": "cms", "kind": "ConfigMap", **keys}


NAMESPACES = {"name": "ns", "kind": "Namespace"}
NAMED_A = {"matchExpressions": [{"field": "metadata.name", "operator": "Equals", "value": "a"}]}
EVERY = {"name": "every", "crontab": "0 0 1 1 *"}
CONFIGS: list[dict[str, Any]] = [
    {"kubernetes": [watching()]},
    {"kubernetes": [watching(jqFilter=".data.x")]},
    {"kubernetes": [watching(jqFilter="{v: .data | length}")]},
    {"kubernetes": [watching(jqFilter=".data", keepFullObjectsInMemory=False)]},
    {"kubernetes": [watching(keepFullObjectsInMemory=False)]},
    {"kubernetes": [watching(includeSnapshotsFrom=["cms"])]},
    {"kubernetes": [watching(executeHookOnEvent=["Deleted"])]},
    {"kubernetes": [watching(executeHookOnEvent=[])]},
    {"kubernetes": [watching(executeHookOnSynchronization=False)]},
    {"kubernetes": [watching(nameSelector={"matchNames": ["b"]})]},
    {"kubernetes": [watching(nameSelector={"matchNames": ["b", "c"]})]},
    {"kubernetes": [watching(labelSelector={"matchLabels": {"l": "1"}})]},
    {"kubernetes": [watching(fieldSelector=NAMED_A)]},
    {"kubernetes": [watching(namespace={"nameSelector": {"matchNames": ["default", "n"]}})]},
    {"kubernetes": [watching(namespace={"nameSelector": {"matchNames": ["n"]}}), NAMESPACES]},
    {"kubernetes": [watching(namespace={"labelSelector": {"matchLabels": {"team": "a"}}})]},
    {"kubernetes": [watching(namespace={"labelSelector": {"matchLabels": {"team": "b"}}}), NAMESPACES]},
    {"kubernetes": [watching(group="g"), {**NAMESPACES, "group": "g"}]},
    {"kubernetes": [watching(group="g", includeSnapshotsFrom=["ns"]), NAMESPACES]},
    {"kubernetes": [watching(), {**NAMESPACES, "includeSnapshotsFrom": ["cms", "ns"], "jqFilter": ".metadata.name"}]},
    {"kubernetes": [watching(), watching(name="names", jqFilter=".metadata.name")]},
    {"onStartup": 1, "kubernetes": [watching(jqFilter=".metadata.labels")]},
    {"kubernetes": [watching(jqFilter=".data.x")], "schedule": [{**EVERY, "includeSnapshotsFrom": ["cms"]}]},
    {"kubernetes": [watching(group="g", jqFilter=".data")], "schedule": [{**EVERY, "group": "g"}]},
    {"schedule": [EVERY]},
    {"onKubernetesEvent": [{"name": "cms", "kind": "ConfigMap", "jqFilter": ".data"}], "schedule": [EVERY]},
]
A, B, SAME, C, LABELLED = (
    with_uid(config_map(name, **data))
    for name, data in (
        ("a", {"x": "1"}),
        ("b", {"x": "2"}),
        ("a", {"x": "1", "y": "0"}),
        ("c", {"x": "3"}),
        ("b", {"x": "9"}),
    )
)
C["metadata"]["labels"] = LABELLED["metadata"]["labels"] = {"l": "1"}
OBJECTS = (namespace("default", team="a"), namespace("n"), A, B)
HAPPENINGS: list[Changed | Tick] = [
    Changed(Change.ADDED, C, binding="cms"),
    Changed(Change.MODIFIED, SAME, binding="cms"),
    Tick(),
    Changed(Change.MODIFIED, LABELLED, binding="cms"),
    Changed(Change.MODIFIED, with_uid(config_map("b", x="9")), binding="cms"),
    Changed(Change.DELETED, SAME, binding="cms"),
]


def let_happen(operator: Operator, happening: Changed | Tick) -> None:
    if isinstance(happening, Changed):
        (operator.cluster.delete if happening.change is Change.DELETED else operator.cluster.put)(happening.obj)
        return
    for run in dispatch.for_tick(operator.engine.hooks.values(), Ticked(EVERY["crontab"], 0.0)):
        operator.queues.by_name[run.queue].enqueue(run)


async def in_an_operator(operator: Operator, config: dict[str, Any], jq: Jq, client: Client) -> list[Any]:
    """The contexts of its runs; each happening waits until the one before has been handled."""
    for obj in OBJECTS:
        operator.cluster.put(obj)
    single = {} if "onKubernetesEvent" in config else {"settings": {"combine": False}}
    operator.hook("h.sh", {**single, **config})
    await operator.start(jq, client)
    for happening in HAPPENINGS:
        await operator.idle()
        let_happen(operator, happening)
    await operator.idle()
    return [_without_versions(context) for run in operator.runs("h.sh") for context in run]


async def on_the_bench(hook: Hook, jq: Jq) -> list[Any]:
    """The contexts of the same happenings on the bench, one by one, each with the objects after the one before."""
    config = hook.config
    happenings: list[Happening] = [Startup()]
    happenings += [Synchronization(f"kubernetes[{index}]") for index in range(len(config.kubernetes))]
    happenings += [one for one in HAPPENINGS if (config.schedules if isinstance(one, Tick) else config.kubernetes)]
    objects: tuple[Any, ...] = OBJECTS
    found: list[Any] = []
    for happening in happenings:
        for each in _of_every_binding(hook, happening):
            with suppress(NotRun):
                found += await contexts(hook, objects, [each], jq)
        if isinstance(happening, Changed):
            others = tuple(obj for obj in objects if key_of(obj) != key_of(happening.obj))
            objects = others if happening.change is Change.DELETED else (*others, happening.obj)
    return found


async def contexts(hook: Hook, objects: tuple[Any, ...], happenings: list[Happening], jq: Jq) -> list[Any]:
    planned = await plan_run(hook, Given(objects), happenings, jq)
    found: list[Any] = json.loads(b"".join(Run(hook, planned.contexts, planned.snapshots).rendered_contexts()))
    return found


def _of_every_binding(hook: Hook, happening: Happening) -> list[Happening]:
    """A running hookrunner dispatches a change to each binding, the bench to the named one."""
    if not isinstance(happening, Changed):
        return [happening]
    places = [index for index, one in enumerate(hook.config.kubernetes) if one.kind == "ConfigMap"]
    return [Changed(happening.change, happening.obj, binding=f"kubernetes[{index}]") for index in places]


def _without_versions(value: Any) -> Any:
    """The fake cluster counts resourceVersions, the bench does not."""
    if isinstance(value, dict):
        return {key: _without_versions(item) for key, item in value.items() if key != "resourceVersion"}
    return [_without_versions(item) for item in value] if isinstance(value, list) else value


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=str)
async def test_the_contexts_are_those_of_a_running_operator(
    config: dict[str, Any], bench: Operator, jq: Jq, client: Client
) -> None:
    expected = await in_an_operator(bench, config, jq, client)
    assert expected or config == {"kubernetes": [watching(executeHookOnEvent=["Deleted"])]}
    assert await on_the_bench(bench.engine.hooks["h.sh"], jq) == expected


COMBINED: list[dict[str, Any]] = [
    {"kubernetes": [watching()]},
    {"kubernetes": [watching(jqFilter=".data.x", includeSnapshotsFrom=["cms"])]},
    {"kubernetes": [watching(group="g")]},
    {"kubernetes": [watching()], "schedule": [{**EVERY, "includeSnapshotsFrom": ["cms"]}]},
    {"kubernetes": [watching(group="g")], "schedule": [{**EVERY, "group": "g"}]},
]


@pytest.mark.slow
@pytest.mark.parametrize("config", COMBINED, ids=str)
async def test_waiting_contexts_are_combined_as_in_a_running_operator(
    config: dict[str, Any], bench: Operator, jq: Jq, client: Client
) -> None:
    """The run of the first change lasts until everything else has happened."""
    for obj in OBJECTS:
        bench.cluster.put(obj)
    go = bench.directory / "go"
    wait = f"[ $(wc -l < {bench.directory}/runs.h.sh) -eq 1 ] || until [ -e {go} ]; do sleep 0.01; done"
    bench.hook("h.sh", config, wait)
    await bench.start(jq, client)
    await bench.wait_for_runs("h.sh", 1)
    first, *others = [one for one in HAPPENINGS if isinstance(one, Changed) or "schedule" in config]
    let_happen(bench, first)
    await bench.wait_for_runs("h.sh", 2)
    for happening in others:
        let_happen(bench, happening)
        await settle()
    (monitor,) = bench.monitors
    await until(lambda: key_of(A) not in [entry.key for entry in monitor.snapshot.read()])
    await settle()
    go.touch()
    run = (await bench.wait_for_runs("h.sh", 3))[2]
    found = await contexts(bench.engine.hooks["h.sh"], (*OBJECTS, C), [*others], jq)
    assert found == [_without_versions(context) for context in run]
