"""No wrong answer of a cloud deletes, taints or untaints a Node, in both modes.

What a provider prints is read by the code that reads it in production. Each wrong answer says as clearly as it can that
all machines are gone or off.

Level: FakeApi.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import pytest

from hookrunner.cloud.answers import InstanceAnswer, ProviderError, Want
from hookrunner.cloud.nodes.cloud_node import SHUTDOWN, CloudNode
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.wire_answers import read_answer, result_of, unavailable
from hookrunner.cloud.provider.wire_results import read_instances
from hookrunner.errors import NotLeader
from hookrunner.kube.client import ApiCall
from hookrunner.model.events import WatchLost, WatchRestored
from tests.cloud.fake_cloud import FakeCloud
from tests.cloud.node_samples import node
from tests.cloud.nodes.node_world import NodeWorld
from tests.cloud.upstream_policies import UPSTREAM_LIFECYCLE
from tests.tables import each

pytestmark = pytest.mark.looptime

ID = "this request's"
OFF_TAINT = {"key": SHUTDOWN, "effect": "NoSchedule"}


def said(state: str, names: Sequence[str]) -> list[dict[str, Any]]:
    return [{"name": name, "state": state} for name in names]


def printed(entries: Any, request_id: str = ID, **parts: Any) -> bytes:
    answer = {"requestID": request_id, "result": {"instances": entries}} | parts
    return json.dumps(answer).encode()


def crash(names: Sequence[str]) -> bytes:
    raise unavailable("exit code 1")


def overrun(names: Sequence[str]) -> bytes:
    raise unavailable("no answer within 60 s")


GONE, OFF = "notFound", "shutdown"
WRONG: dict[str, Callable[[Sequence[str]], bytes]] = {
    "crash": crash,
    "timeout": overrun,
    "an error": lambda names: json.dumps({"requestID": ID, "error": {"code": "Unavailable"}}).encode(),
    "the error NotFound of the call": lambda names: json.dumps(
        {"requestID": ID, "error": {"code": "NotFound", "message": "no such project"}}
    ).encode(),
    "an error beside the result": lambda names: printed(said(GONE, names), error={"code": "NotFound"}),
    "nothing": lambda names: b"",
    "garbage": lambda names: b"instance not found\n",
    "half an answer": lambda names: printed(said(GONE, names))[:-3],
    "two answers": lambda names: printed(said(GONE, names)) * 2,
    "no list": lambda names: printed(None),
    "an empty list": lambda names: printed([]),
    "forgotten": lambda names: printed(said("running", names[-1:])),
    "doubled": lambda names: printed(said(GONE, [*names, *names])),
    "contradiction": lambda names: printed([*said(GONE, names), *said("running", names)]),
    "unknown state": lambda names: printed(said("terminated", names)),
    "state unknown": lambda names: printed(said("unknown", names)),
    "state in capitals": lambda names: printed(said("NotFound", names)),
    "state is a list": lambda names: printed([{"name": name, "state": [GONE]} for name in names]),
    "unusable entry": lambda names: printed([one | {"addresses": "none"} for one in said(OFF, names)]),
    "another request's": lambda names: printed(said(GONE, names), "another's"),
    "entries of other Nodes": lambda names: printed(said(GONE, [f"{name}-2" for name in names])),
    "names in capitals": lambda names: printed(said(GONE, [name.upper() for name in names])),
    "entries without names": lambda names: printed([{"state": GONE} for _ in names]),
    "names for keys": lambda names: printed({name: {"state": GONE} for name in names}),
}


@dataclass(eq=False)
class PrintingCloud(FakeCloud):
    """A cloud that prints what `answer` makes of the names of the Nodes."""

    answer: Callable[[Sequence[str]], bytes] = crash

    async def ask_instances(
        self, nodes: Sequence[CloudNode], want: AbstractSet[Want]
    ) -> Mapping[str, InstanceAnswer | ProviderError]:
        names = [node.name for node in nodes]
        await self._call(verbs.INSTANCES, names, want)
        try:
            return read_instances(result_of(read_answer(self.answer(names)), verbs.INSTANCES, ID), names, want)
        except ProviderError as error:
            return dict.fromkeys(names, error)


def populate(world: NodeWorld) -> None:
    """Nodes that report and do not, with and without the taint of a machine that is off; the last is well."""
    for name, ready, taints in (("a", False, []), ("b", None, [OFF_TAINT]), ("c", False, [OFF_TAINT])):
        world.api.put(node(name, ready, f"sim://{name}", taints=taints))
    world.api.put(node("d", True, "sim://d"))


@pytest.mark.slow
@each(
    ("answer", "policy"),
    [(text, policy) for text in WRONG for policy in (LifecyclePolicy(), UPSTREAM_LIFECYCLE)],
)
async def test_no_wrong_answer_deletes_taints_or_untaints(answer: str, policy: LifecyclePolicy) -> None:
    world = NodeWorld(life_policy=policy, cloud=PrintingCloud(answer=WRONG[answer]))
    populate(world)
    async with world.running(world.life_loop):
        await asyncio.sleep(43)
    assert len(world.cloud.calls) > 3
    assert (world.left, world.api.calls, world.events) == ("abcd", [], [])


async def test_right_answer_in_the_same_shape_does_what_it_says() -> None:
    """Else the rows above would prove nothing."""
    answer = [*said(GONE, "a"), *said(OFF, "bc"), *said("running", "d")]
    world = NodeWorld(cloud=PrintingCloud(answer=lambda names: printed(answer)))
    populate(world)
    async with world.running(world.life_loop):
        await asyncio.sleep(43)
    assert world.left == "bcd"


def with_gone_node() -> NodeWorld:
    world = NodeWorld()
    world.add("a", ready=None)
    world.cloud.terminate("a")
    world.add("d")
    return world


async def test_lease_lost_before_the_deletion_deletes_nothing_and_counting_begins_anew() -> None:
    world, leads = with_gone_node(), [True]

    def fence(call: ApiCall) -> None:
        """As `FencedClient`; the lease is lost directly before the first DELETE."""
        leads[0] &= call.method != "DELETE"
        if not leads[0]:
            raise NotLeader(f"{call.method} {call.path} was not sent")

    world.api.before_write = fence
    async with world.running(world.life_loop):
        await asyncio.sleep(25)
    assert (world.left, leads, world.counted) == ("ad", [False], ["failed"])
    world.api.before_write = lambda call: None
    world.begin_term()
    async with world.running(world.life_loop):
        await asyncio.sleep(12)
        assert [one.confirmations for one in world.life_loop.dump()] == [2]
        assert world.left == "ad"
        await asyncio.sleep(10)
    assert world.left == "d"


async def test_watch_lost_between_two_deletions_of_a_pass_keeps_the_second() -> None:
    world = with_gone_node()
    world.api.change("Node", "a", {"spec": {"unschedulable": True}})
    world.api.put(node("b", None, "sim://b", unschedulable=True))
    send = world.api.send

    async def lose_watch(call: ApiCall) -> bytes:
        answer = await send(call)
        world.api.cluster.tell(WatchLost("cut", brief=True))
        await asyncio.sleep(1)
        return answer

    world.api.send = lose_watch  # type: ignore[method-assign]
    async with world.running(world.life_loop):
        await asyncio.sleep(55)
        assert world.left == "bd"
        world.api.cluster.tell(WatchRestored())
        await asyncio.sleep(20)
        assert world.left == "bd"
        await asyncio.sleep(10)
    assert world.left == "d"
