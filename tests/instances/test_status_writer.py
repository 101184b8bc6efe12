"""Statuses as an API server gets them: at once, then in batches, and never twice the same. Level: pure."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import orjson
import pytest

from hookrunner.errors import Conflict, Denied, KubeError, NotFound, Unreachable
from hookrunner.instances.status_writer import StatusWriter
from hookrunner.kube.back_off import Outage
from hookrunner.kube.client import ApiCall
from hookrunner.model.addon_status import AddonObstacle, AddonPhase, HookCondition, Installed, InstanceFacts
from hookrunner.model.addons import Addon, Instance
from tests.fakes.cluster import running
from tests.instances.samples import ADDON, instance

pytestmark = pytest.mark.looptime

FACTS = InstanceFacts(1)
WAITING = replace(FACTS, obstacle=AddonObstacle(AddonPhase.PENDING, "Waiting", "waiting for a Service"))
RUNNING = replace(FACTS, obstacle=AddonObstacle(AddonPhase.APPLYING, "Applying", "its run has not ended yet"))
INSTALLED = replace(FACTS, installed=Installed("1.0.0", "", "dns.default.x", 1, "2026-01-01T00:00:00Z"))
UNIT = "dns.default.x"


@dataclass
class Server:
    """Takes statuses, unless `error` says why not; `uid` is that of the object itself, empty without one."""

    error: KubeError | None = None
    uid: str = "u-1"
    calls: list[ApiCall] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    outage: Outage = field(default_factory=Outage)

    async def send(self, call: ApiCall) -> bytes:
        self.calls.append(call)
        self.times.append(asyncio.get_running_loop().time())
        if self.error:
            raise self.error
        return orjson.dumps(call.body)

    async def get(self, path: str, params: Any = None, accept: str = "", timeout: float = 0.0) -> Any:
        if not self.uid:
            raise NotFound(404, "NotFound", "gone")
        return {"metadata": {"name": "x", "uid": self.uid}}

    @property
    def phases(self) -> list[str]:
        return [call.body["status"]["phase"] for call in self.calls]


@dataclass
class World:
    server: Server
    writer: StatusWriter

    async def report(self, facts: InstanceFacts, about: Instance | None = None, addon: Addon = ADDON) -> None:
        self.writer.report(addon, about or instance(), facts)
        await asyncio.sleep(0.01)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    server = Server()
    writer = StatusWriter(server)  # type: ignore[arg-type]  # it sends and reads metadata
    async with running(writer.post()):
        yield World(server, writer)


async def test_first_status_is_applied_at_once_with_the_uid_of_its_object(world: World) -> None:
    await world.report(WAITING)
    (call,) = world.server.calls
    assert (call.method, call.path) == ("PATCH", "/apis/addons.x-k8s.io/v1alpha1/namespaces/default/dnses/x/status")
    assert (call.params["fieldManager"], call.params["force"]) == ("hookrunner-status", "true")
    assert call.body["metadata"] == {"name": "x", "uid": "u-1", "namespace": "default"}
    assert call.body["status"]["errors"] == ["waiting for a Service"]


async def test_further_changes_are_written_together(world: World) -> None:
    for generation in range(50):
        await world.report(replace(WAITING, generation=generation))
    await asyncio.sleep(5)
    assert world.server.times == [0.0, 0.5]
    assert world.server.calls[-1].body["status"]["observedGeneration"] == 49


async def test_health_that_is_known_soon_after_a_run_costs_no_write_of_its_own(world: World) -> None:
    await world.report(RUNNING)
    await asyncio.sleep(1)
    await world.report(INSTALLED)
    await asyncio.sleep(0.5)
    assert world.server.phases == ["Applying"]
    await world.report(replace(INSTALLED, objects=()))
    assert world.server.phases == ["Applying", "Current"]


async def test_health_that_stays_unknown_is_said_a_second_after_the_run(world: World) -> None:
    for _ in range(4):
        await world.report(INSTALLED)
        await asyncio.sleep(0.3)
    assert (world.server.phases, world.server.times) == (["InProgress"], [1.0])


async def test_equal_status_is_not_written_again(world: World) -> None:
    await world.report(WAITING)
    await asyncio.sleep(100)
    await world.report(WAITING)
    await asyncio.sleep(5)
    assert len(world.server.calls) == 1


async def test_status_that_an_earlier_process_has_written_is_not_written_again(world: World) -> None:
    facts = replace(WAITING, hook_conditions=[HookCondition("Migrated", "True", "Done", hook="hooks/migrate")])
    await world.report(facts)
    written = world.server.calls[0].body["status"]
    theirs = {"type": "Theirs", "status": "True"}
    live = written | {"conditions": [*written["conditions"], theirs], "theirField": 1}
    await world.report(facts, instance("y", status=live))
    assert len(world.server.calls) == 1
    await world.report(FACTS, instance("y", status=live))
    assert world.server.phases == ["Pending", "Applying"]


async def test_condition_of_a_hook_that_it_no_longer_reports_is_removed(world: World) -> None:
    reported = replace(FACTS, hook_conditions=[HookCondition("Migrated", "True", "Done")])
    for facts in (reported, reported, FACTS):
        await world.report(facts)
        await asyncio.sleep(1)
    types = [[entry["type"] for entry in call.body["status"]["conditions"]] for call in world.server.calls]
    assert ["Migrated" in listed for listed in types] == [True, False]


async def test_unreachable_server_gets_the_latest_status_when_it_is_back(world: World) -> None:
    world.server.error = Unreachable("refused")
    await world.report(WAITING)
    await asyncio.sleep(20)
    times = [0.0, *world.server.times]
    assert [round(later - earlier) for earlier, later in pairwise(times)] == [0, 1, 2, 4, 8]
    await world.report(FACTS)
    world.server.error = None
    await asyncio.sleep(60)
    assert world.server.phases[-1] == "Applying"
    assert len(world.server.calls) == 6


async def test_status_is_written_at_the_end_of_an_outage(world: World) -> None:
    server = world.server
    server.error = Unreachable("refused")
    async with running(world.writer.retry_after_outages()):
        server.outage.note_failure()
        await world.report(WAITING)
        await asyncio.sleep(40)  # the next attempt is at 63
        server.error = None
        server.outage.note_answer(200)
        await asyncio.sleep(1)
    assert [round(at) for at in server.times] == [0, 1, 3, 7, 15, 31, 40]


async def test_one_bad_connection_shortens_no_pause(world: World) -> None:
    server = world.server
    server.error = Unreachable("refused")
    async with running(world.writer.retry_after_outages()):
        await world.report(WAITING)
        for _ in range(5):
            server.outage.note_failure()
            server.outage.note_answer(200)
            await asyncio.sleep(1)
    assert [round(at) for at in server.times] == [0, 1, 3]


@pytest.mark.parametrize("error", [Conflict(409, "Conflict", "uid"), NotFound(404, "NotFound", "no")], ids=type)
async def test_object_that_is_gone_gets_no_status(world: World, error: KubeError) -> None:
    world.server.error, world.server.uid = error, ""
    await world.report(WAITING)
    await asyncio.sleep(100)
    assert (len(world.server.calls), world.writer.status_of(UNIT)) == (1, None)


async def test_object_that_was_created_again_gets_its_own_status_at_once(world: World) -> None:
    await world.report(WAITING)
    await world.report(WAITING, instance(uid="u-2"))
    assert [call.body["metadata"]["uid"] for call in world.server.calls] == ["u-1", "u-2"]


async def test_object_created_again_after_a_write_found_none_gets_its_status(world: World) -> None:
    world.server.error, world.server.uid = NotFound(404, "NotFound", "gone"), "u-2"
    await world.report(WAITING)
    world.server.error = None
    await world.report(WAITING, instance(uid="u-2"))
    assert [call.body["metadata"]["uid"] for call in world.server.calls] == ["u-1", "u-2"]


async def test_status_that_cannot_be_written_at_all_holds_up_no_others(world: World) -> None:
    too_large = Installed("1.0.0", "", "dns.default.x", 2**70, "2026-01-01T00:00:00Z")
    await world.report(replace(WAITING, installed=too_large, objects=()))
    await world.report(WAITING, instance("y", "u-2"))
    await asyncio.sleep(5)
    assert [call.body["metadata"]["name"] for call in world.server.calls] == ["y"]


async def test_kind_without_the_subresource_is_not_asked_again(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    world.server.error = NotFound(404, "NotFound", "no such path")
    for name in "xyz":
        await world.report(WAITING, instance(name))
    await asyncio.sleep(100)
    assert len(world.server.calls) == 1
    assert capfd.readouterr().err.count("no subresource status") == 1
    world.server.error = None
    await world.report(WAITING, instance("other"), replace(ADDON, name="other"))
    assert len(world.server.calls) == 2


async def test_missing_right_is_named_once_and_tried_again(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    world.server.error = Denied(403, "Forbidden", "forbidden")
    await world.report(WAITING)
    await asyncio.sleep(2)
    world.server.error = None
    await asyncio.sleep(2)
    assert world.server.phases == ["Pending"] * 3
    assert capfd.readouterr().err.count("status cannot be written") == 1


async def test_forgotten_instance_gets_no_status(world: World) -> None:
    await world.report(WAITING)
    world.writer.report(ADDON, instance(), FACTS)
    world.writer.forget(UNIT)
    await asyncio.sleep(5)
    assert (world.server.phases, world.writer.status_of(UNIT)) == (["Pending"], None)


async def test_five_hundred_instances_get_their_statuses(world: World) -> None:
    for number in range(500):
        world.writer.report(ADDON, instance(f"x{number}"), WAITING)
    await asyncio.sleep(5)
    assert {call.body["metadata"]["name"] for call in world.server.calls} == {f"x{number}" for number in range(500)}
    assert len(world.server.calls) == 500
