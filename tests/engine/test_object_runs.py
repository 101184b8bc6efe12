"""Bindings with a run for each object at the start, in an engine whose hook is a coroutine, in virtual time. The parts
by themselves: test_lanes.py, test_dispatch.py, test_run_gate.py. Level: FakeCluster."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from hookrunner.background import Background
from hookrunner.engine import dispatch
from hookrunner.engine.engine import BindingActivator, Engine
from hookrunner.engine.hook_executor import Applier, HookExecutor
from hookrunner.engine.queues import QueueParts
from hookrunner.engine.run_gate import RunGate
from hookrunner.engine.status import Status
from hookrunner.engine.workers import QueueRuns, Queues
from hookrunner.errors import HookFailed
from hookrunner.kube.back_off import Outage
from hookrunner.metrics.hooks import HookMetrics
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import RunMetrics
from hookrunner.model.bindings import Change, Hook, HookConfig, HookSettings, Kubernetes, QueueRules
from hookrunner.model.contexts import Context, Snapshots, render
from hookrunner.model.hook_runs import RunOptions, RunResult
from hookrunner.model.operations import Answer, Usage
from hookrunner.model.resources import ObjectKey, key_of
from hookrunner.sources.monitors import Monitors, Streams
from hookrunner.sources.schedule import Schedules
from tests.fakes.cluster import FakeCluster, settle
from tests.fakes.objects import config_map

pytestmark = pytest.mark.looptime
SECONDS = 0.5
"""A run takes so long."""


@dataclass(eq=False)
class Mirror:
    """A hook that mirrors objects: at the end of a run it writes the data that it has read at the beginning. It fails
    for objects without data and asks to be run again for those that are paused."""

    now: Any
    written: dict[str, str] = field(default_factory=dict)
    begun: list[tuple[float, str, str]] = field(default_factory=list)
    runs: int = 0
    running: int = 0
    most: int = 0

    async def run(
        self, hook: Hook, contexts: Sequence[Context], snapshots: Snapshots, options: RunOptions, values: None = None
    ) -> RunResult:
        entries = [self._read(context) for context in orjson.loads(b"".join(render(contexts, snapshots)))]
        self.begun += [(round(self.now(), 1), obj["metadata"]["name"], why) for obj, why in entries]
        self.runs += 1
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(SECONDS)
        self.running -= 1
        again = [obj for obj, _ in entries if obj["metadata"].get("annotations")]
        for obj, why in entries:
            if not obj.get("data"):
                raise HookFailed(f"{obj['metadata']['name']} has no data")
            self.written[obj["metadata"]["name"]] = "" if why == "Deleted" else obj["data"]["k"]
        return RunResult(Answer(again_after=8.0 if again else None), Usage(0.0, 0.0, 0.0, 0))

    def retire(self, hook: Hook) -> None: ...

    def residents(self) -> Iterator[Any]:
        return iter(())

    def _read(self, context: Any) -> tuple[Any, str]:
        if context["type"] == "Synchronization":
            (entry,) = context["objects"]
            return entry["object"], "Synchronization"
        return context["object"], context["watchEvent"]


@dataclass(eq=False)
class Bench:
    """The engine with that hook."""

    cluster: FakeCluster
    mirror: Mirror
    engine: Engine
    queues: Queues
    status: Status
    hook: Hook
    executor: HookExecutor

    def ready(self) -> bool:
        return self.status.conditions()["startup"][0]

    def is_synchronized(self) -> bool:
        return self.engine._activator.is_synchronized(self.hook)

    def begun(self, name: str) -> list[tuple[float, str]]:
        return [(at, why) for at, other, why in self.mirror.begun if other == name]


@asynccontextmanager
async def started(*objects: Any, concurrency: int = 20, binding: Any = None) -> AsyncIterator[Bench]:
    cluster, metrics, now = FakeCluster(), Metrics(""), asyncio.get_running_loop().time
    for obj in objects:
        cluster.put(obj)
    config_maps = Kubernetes("cms", "ConfigMap", queue="q", synchronize_each_object=True, **(binding or {}))
    settings = HookSettings(queues={"q": QueueRules(concurrency, "object")})
    hook = Hook("mirror.py", Path("/nowhere"), HookConfig("v1", settings=settings, kubernetes=(config_maps,)))
    start = now()
    mirror: Any = Mirror(lambda: now() - start)
    no_jq: Any = None
    async with asyncio.TaskGroup() as group:
        background = Background(group)
        monitors = Monitors(Streams(cluster.watch, background, metrics), no_jq, background, metrics, now)
        gate = RunGate(monitors, now, metrics)
        executor = HookExecutor(mirror, Applier(no_jq, HookMetrics()), gate, RunMetrics(metrics, now), None)
        runs, queues = QueueRuns(executor, gate, metrics, now), Queues(QueueParts(gate, now, metrics))
        schedules = Schedules()
        engine = Engine(runs, BindingActivator(monitors, schedules, no_jq, metrics, now), queues, gate, background)
        status = Status(engine, queues, (monitors, Outage()), (executor, runs), now)
        engine.start([hook], monitors, schedules)
        await settle()
        yield Bench(cluster, mirror, engine, queues, status, hook, executor)
        background.stop()


def source(name: str, state: str = "v", paused: bool = False) -> Any:
    annotations = {"annotations": {"pause": "yes"}} if paused else {}
    obj = config_map(name)
    return {**obj, "metadata": {**obj["metadata"], **annotations}, "data": {"k": state} if state else {}}


def config_key(name: str) -> ObjectKey:
    return key_of(config_map(name))


async def test_each_object_of_the_start_has_a_run_of_its_own_and_they_are_side_by_side() -> None:
    async with started(*(source(f"m{number}") for number in range(10))) as bench:
        await asyncio.sleep(SECONDS + 0.1)
        assert {why for _, _, why in bench.mirror.begun} == {"Synchronization"}
        assert (len(bench.mirror.begun), len(bench.mirror.written), bench.mirror.most) == (10, 10, 10)
        assert bench.ready()


async def test_an_object_that_fails_holds_up_itself_only_and_the_start_is_over_when_it_was_tried() -> None:
    async with started(source("a-bad", ""), source("good")) as bench:
        assert (bench.ready(), bench.is_synchronized()) == (False, False)
        await asyncio.sleep(SECONDS + 0.1)
        assert bench.mirror.written == {"good": "v"}
        assert bench.ready()
        assert bench.is_synchronized()
        bench.cluster.put(source("good", "w"))
        await asyncio.sleep(SECONDS + 0.1)
        assert bench.mirror.written == {"good": "w"}
        bench.cluster.put(source("a-bad", "fixed"))
        await asyncio.sleep(SECONDS + 0.1)
        assert bench.mirror.written == {"good": "w", "a-bad": "fixed"}


@pytest.mark.slow
async def test_an_event_during_a_run_again_of_its_object_never_ends_with_old_data() -> None:
    """Whenever the event comes: in the run of the start, before its repetition, in it, or after it."""
    for tenths in range(1, 100, 3):
        async with started(*(source(f"m{number}") for number in range(8)), source("z", paused=True)) as bench:
            await asyncio.sleep(tenths / 10)
            bench.cluster.put(source("z", "new", paused=tenths % 2 == 0))
            bench.cluster.put(source("m0", "new"))
            await asyncio.sleep(20)
            assert (tenths, bench.mirror.written["z"], bench.mirror.written["m0"]) == (tenths, "new", "new")
            assert {name for at, name, _ in bench.mirror.begun if at > tenths / 10 + 2 * SECONDS} <= {"z"}


async def test_an_object_is_run_again_by_itself_with_what_it_is_then() -> None:
    async with started(source("a", paused=True), source("b")) as bench:
        await asyncio.sleep(9)
        assert (bench.begun("a"), bench.begun("b")) == (
            [(0.0, "Synchronization"), (8.5, "Synchronization")],
            [(0.0, "Synchronization")],
        )
        assert bench.ready()


async def test_an_object_runs_with_the_state_that_it_has_when_its_turn_comes() -> None:
    async with started(*map(source, "abc"), concurrency=1) as bench:
        bench.cluster.put(source("b", "w"))
        bench.cluster.delete(bench.cluster.objects[config_key("c")])
        await asyncio.sleep(5)
        assert bench.mirror.begun == [(0.0, "a", "Synchronization"), (0.5, "b", "Modified"), (1.0, "c", "Deleted")]
        assert bench.mirror.written["b"] == "w"


async def test_an_object_that_is_deleted_before_its_turn_has_no_run_where_deletions_are_no_events() -> None:
    only_added = {"changes": frozenset({Change.ADDED})}
    async with started(*map(source, "ab"), concurrency=1, binding=only_added) as bench:
        bench.cluster.delete(bench.cluster.objects[config_key("b")])
        await asyncio.sleep(5)
        assert bench.mirror.begun == [(0.0, "a", "Synchronization")]
        assert (bench.ready(), bench.is_synchronized()) == (True, True)


async def test_an_object_that_is_deleted_while_its_run_waits_for_its_turn_has_no_run() -> None:
    async with started(source("a")) as bench:
        await asyncio.sleep(SECONDS + 0.1)

        @asynccontextmanager
        async def turn() -> AsyncIterator[None]:
            bench.cluster.delete(bench.cluster.objects[config_key("a")])
            await settle()
            yield

        order = dispatch.synchronizations(bench.hook, 0.0)[0]
        (run,) = dispatch.for_each_object(bench.hook, order, {0: [config_key("a")]})
        assert await bench.executor.run(bench.hook, run, [], turn=turn()) == Answer()
        assert bench.mirror.runs == 2, "that of the start, and that of the deletion"


async def test_without_objects_the_start_is_over_at_once_and_events_flow() -> None:
    async with started() as bench:
        assert bench.is_synchronized()
        bench.cluster.put(source("a"))
        await asyncio.sleep(SECONDS + 0.1)
        assert bench.begun("a") == [(0.0, "Added")]


async def test_what_runs_and_waits_is_shown_with_its_object() -> None:
    async with started(source("a", ""), source("b"), concurrency=1) as bench:
        (_, queue) = bench.status.queues()
        first, second = (text for _, text in queue.tasks)
        assert first.startswith("HookRun:q:kubernetes:mirror.py:cms:running for ")
        assert first.endswith(":object=default/ConfigMap/a")
        assert second == "HookRun:q:kubernetes:mirror.py:cms:object=default/ConfigMap/b"
