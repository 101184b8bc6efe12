"""Nodes whose machines are gone or off, pass by pass, in virtual time. Level: FakeApi."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hookrunner.cloud.answers import ErrorCode, InstanceState, ProviderError
from hookrunner.cloud.nodes.cloud_node import SHUTDOWN
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.provider import verbs
from hookrunner.errors import Conflict, Denied, Unreachable
from hookrunner.kube.client import ApiCall
from hookrunner.model.events import WatchLost, WatchRestored
from tests.cloud.node_samples import node
from tests.cloud.nodes.node_world import NodeWorld
from tests.cloud.upstream_policies import UPSTREAM_LIFECYCLE
from tests.fakes.fake_api import FakeApi
from tests.tables import each

pytestmark = pytest.mark.looptime

DOWN = ProviderError(ErrorCode.UNAVAILABLE, "the cloud is down")
FORBIDDEN = Denied(403, "Forbidden", "no", raw='User "x" cannot delete resource "nodes"')


@pytest.fixture
async def world() -> AsyncIterator[NodeWorld]:
    world = NodeWorld()
    async with world.running(world.life_loop):
        yield world


async def test_nothing_is_asked_while_all_are_ready(world: NodeWorld) -> None:
    world.add("a", "b")
    await asyncio.sleep(1000)
    assert (world.cloud.calls, world.api.calls) == ([], [])


async def test_node_of_a_vanished_machine_goes_with_the_third_answer(world: NodeWorld) -> None:
    world.add("a", "b")
    await asyncio.sleep(15)
    world.vanish("a")
    await asyncio.sleep(24)
    assert (world.left, len(world.cloud.calls)) == ("ab", 2)
    assert [(one.node, one.confirmations) for one in world.life_loop.dump()] == [("a", 2)]
    await asyncio.sleep(10)
    assert (world.left, world.reasons(), world.counted) == ("b", ["DeletingNode"], ["deleted"])
    (call,) = [call for call in world.api.calls if call.method == "DELETE"]
    assert set(call.body["preconditions"]) == {"uid", "resourceVersion"}
    assert world.cloud.asked(verbs.INSTANCES)[0] == ("a", "b")


async def test_failed_call_is_named_until_there_is_an_answer(world: NodeWorld) -> None:
    world.add("a", "b", "c", ready=False)
    world.cloud.fail(verbs.INSTANCES, DOWN)
    await asyncio.sleep(15)
    assert world.life_loop.problem == "no answer about a, b, c: Unavailable: the cloud is down"
    world.cloud.fail(verbs.INSTANCES, DOWN, times=0)
    await asyncio.sleep(10)
    assert (world.life_loop.problem, world.api.calls) == ("", [])


async def test_foreign_nodes_are_neither_asked_about_nor_touched(world: NodeWorld) -> None:
    world.add("a")
    world.api.put(node("b", None, "other://b"))
    world.api.put(node("c", None))
    world.say_ready("Unknown", "a")
    await asyncio.sleep(100)
    assert set(world.cloud.asked(verbs.INSTANCES)) == {("a",)}
    assert world.left == "abc"


async def test_prefixes_that_change_begin_every_count_anew(world: NodeWorld) -> None:
    """Machines were said to be gone twice, when their Nodes turn out to be another cloud's."""
    world.add("a", "b")
    world.api.put(node("c", None, "new://c"))
    world.api.put(node("d", True, "new://d"))
    world.cloud.add("d")
    world.vanish("a")
    await asyncio.sleep(15)
    known = world.cloud.capabilities
    world.cloud.capabilities = replace(known, provider_id_prefixes=("new://",))
    await asyncio.sleep(20)
    assert (world.cloud.asked(verbs.INSTANCES)[-1], world.left) == (("c", "d"), "abcd")
    world.cloud.capabilities = known
    await asyncio.sleep(20)
    assert world.left == "abcd"
    await asyncio.sleep(10)
    assert world.left == "bcd"


async def test_upstream_asks_about_each_that_is_not_ready_and_deletes_at_once() -> None:
    world = NodeWorld(life_policy=UPSTREAM_LIFECYCLE)
    async with world.running(world.life_loop):
        world.add("a", "b")
        world.api.put(node("c", None))
        await asyncio.sleep(6)
    assert (world.left, world.cloud.asked(verbs.INSTANCES)) == ("ab", [("c",)])


async def test_machine_that_is_off_is_tainted_until_the_node_is_ready(world: NodeWorld) -> None:
    world.add("a", "b")
    world.say_ready("Unknown", "a")
    world.cloud.stop("a")
    await asyncio.sleep(15)
    assert world.taints() == [SHUTDOWN]
    world.cloud.say("a", InstanceState.RUNNING)
    await asyncio.sleep(50)
    assert world.taints() == [SHUTDOWN]
    asked = len(world.cloud.calls)
    world.say_ready("True", "a")
    await asyncio.sleep(1)
    assert (world.taints(), len(world.cloud.calls)) == ([], asked)


async def test_refused_deletion_is_retried_and_holds_up_no_other(world: NodeWorld) -> None:
    world.add(*"abcdefghijkl")
    world.api.refuse("DELETE", "/nodes/a", FORBIDDEN, times=100)
    world.vanish("a", "b")
    await asyncio.sleep(60)
    assert world.left == "acdefghijkl"
    assert "DeletingNodeFailed" in world.reasons()
    assert "verbs: [delete]" in world.life_loop.problem
    assert "failed" in world.counted


async def test_held_deletions_go_on_when_a_person_releases_them(world: NodeWorld) -> None:
    world.add(*"abcdefghij")
    world.vanish(*"abcdefgh")
    await asyncio.sleep(100)
    assert (len(world.left), set(world.reasons())) == (10, {"NodeDeletionHeld"})
    assert [one.held for one in world.life_loop.dump()] == [True] * 8
    assert list(world.life_loop.release()) == list("abcdefgh")
    await asyncio.sleep(100)
    assert world.left == "ij"


async def test_lost_watch_begins_every_count_anew(world: NodeWorld) -> None:
    world.add("a", "b")
    world.vanish("a")
    await asyncio.sleep(15)
    world.api.cluster.tell(WatchLost("refused", brief=True))
    await asyncio.sleep(100)
    assert (world.left, len(world.cloud.calls)) == ("ab", 2)
    world.api.cluster.tell(WatchRestored())
    await asyncio.sleep(20)
    assert world.left == "ab"
    await asyncio.sleep(10)
    assert world.left == "b"


async def test_watch_that_is_lost_during_the_call_decides_nothing(world: NodeWorld) -> None:
    world.add("a", "b")
    world.vanish("a")
    world.cloud.seconds[verbs.INSTANCES] = 5.0
    await asyncio.sleep(22)
    world.api.cluster.tell(WatchLost("refused", brief=True))
    await asyncio.sleep(100)
    assert world.left == "ab"


async def test_answer_during_which_the_watch_was_lost_counts_for_nothing(world: NodeWorld) -> None:
    world.add("a", "b")
    world.vanish("a")
    world.cloud.seconds[verbs.INSTANCES] = 5.0
    await asyncio.sleep(12)
    world.api.cluster.tell(WatchLost("refused", brief=True))
    await asyncio.sleep(4)
    world.api.cluster.tell(WatchRestored())
    await asyncio.sleep(21)
    assert (world.left, len(world.cloud.calls)) == ("ab", 4)
    await asyncio.sleep(10)
    assert world.left == "b"


async def test_node_made_anew_between_answer_and_deletion_stays(world: NodeWorld) -> None:
    def make_anew(call: ApiCall) -> None:
        if call.method == "DELETE" and world.live()["metadata"]["uid"] == "u-1":
            world.api.delete("Node", "a")
            world.api.put(node("a", None, "sim://a", uid="u-2"))

    world.add("b")
    world.api.before_write = make_anew
    world.api.put(node("a", None, "sim://a", uid="u-1"))
    await asyncio.sleep(45)
    assert world.live()["metadata"]["uid"] == "u-2"
    assert "DeletingNodeFailed" not in world.reasons()


async def test_answer_about_its_predecessor_does_not_count_for_a_node(world: NodeWorld) -> None:
    world.add("b")
    world.api.put(node("a", None, "sim://a", uid="u-1"))
    world.cloud.seconds[verbs.INSTANCES] = 5.0
    await asyncio.sleep(22)
    world.api.delete("Node", "a")
    world.api.put(node("a", None, "sim://a", uid="u-2"))
    await asyncio.sleep(26)
    assert (world.left, len(world.cloud.calls)) == ("ab", 5)
    await asyncio.sleep(10)
    assert world.left == "b"


@each("change", ["ready", "made anew"])
async def test_node_that_changes_while_another_is_deleted_stays(change: str) -> None:
    class SlowApi(FakeApi):
        async def send(self, call: ApiCall) -> bytes:
            answer = await super().send(call)
            await asyncio.sleep(1)
            return answer

    world = NodeWorld(SlowApi(), life_policy=LifecyclePolicy(max_per_pass=0, max_ratio=1.0))

    def change_second(_call: ApiCall) -> None:
        if change == "ready":
            world.say_ready("True", "b")
        else:
            world.api.delete("Node", "b")
            world.api.put(node("b", ready=False, provider_id="sim://b"))

    async with world.running(world.life_loop):
        world.add("a", "b", "c")
        world.vanish("a", "b")
        world.api.before_write = change_second
        await asyncio.sleep(29)
    assert (world.left, world.reasons("b")) == ("bc", [])


async def test_node_that_changes_before_its_deletion_is_looked_at_again(world: NodeWorld) -> None:
    world.add("a", "b")
    world.vanish("a")
    world.api.refuse("DELETE", "/nodes/a", Conflict(409, "Conflict", "changed"))
    await asyncio.sleep(25)
    assert (world.left, world.reasons()) == ("ab", ["DeletingNode"])
    await asyncio.sleep(10)
    assert world.left == "b"


async def test_young_node_stays(world: NodeWorld) -> None:
    world.add("b")
    world.api.put(node("a", None, "sim://a", created=datetime.now(UTC).isoformat()))
    await asyncio.sleep(200)
    assert world.left == "ab"


async def test_young_node_stays_also_if_the_clock_is_set_forward(
    world: NodeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.add("b")
    world.api.put(node("a", None, "sim://a", created=datetime.now(UTC).isoformat()))
    await asyncio.sleep(5)
    monkeypatch.setattr("time.time", lambda: datetime.now(UTC).timestamp() + 5 * 3600)
    await asyncio.sleep(200)
    assert world.left == "ab"


async def test_dry_run_only_says_what_would_go() -> None:
    world = NodeWorld(life_policy=replace(LifecyclePolicy(), dry_run=True))
    async with world.running(world.life_loop):
        world.add("b")
        world.api.put(node("a", None, "sim://a"))
        await asyncio.sleep(45)
    assert world.left == "ab"
    assert ("a", "DeletingNode") in [event[:2] for event in world.events]
    assert set(world.counted) == {"dry-run"}


async def test_taint_that_cannot_be_written_is_tried_again(world: NodeWorld) -> None:
    world.add("a", "b")
    world.say_ready("Unknown", "a")
    world.cloud.stop("a")
    world.api.away = Unreachable("refused")
    await asyncio.sleep(15)
    assert world.life_loop.problem == "refused"
    world.api.away = None
    await asyncio.sleep(10)
    assert world.taints() == [SHUTDOWN]
    world.api.refuse("PATCH", "/nodes/a", Unreachable("refused"))
    world.say_ready("True", "a")
    await asyncio.sleep(12)
    assert world.taints() == []


async def test_stop_finishes_the_pass() -> None:
    world = NodeWorld()
    async with world.until_stop(world.life_loop):
        world.add("a", "b")
        world.say_ready("Unknown", "a")
        world.cloud.stop("a")
        world.cloud.seconds[verbs.INSTANCES] = 8.0
        await asyncio.sleep(12)
    assert world.taints() == [SHUTDOWN]


async def test_stop_ends_the_wait_for_the_first_list() -> None:
    world = NodeWorld()
    running = asyncio.create_task(world.life_loop.run())
    await asyncio.sleep(4)
    world.life_loop.stop()
    await running
    assert world.cloud.calls == []
