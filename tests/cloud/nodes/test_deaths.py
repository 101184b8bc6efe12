"""A process that dies at any of its writes, before or after the API server has it, leads to the same end.

Level: FakeApi."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from hookrunner.cloud.nodes.address_loop import AddressLoop, AddressPolicy
from hookrunner.cloud.nodes.initialization import InitializationPolicy
from hookrunner.cloud.nodes.initialization_loop import InitializationLoop
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.nodes.lifecycle_loop import LifecycleLoop
from hookrunner.cloud.provider import verbs
from hookrunner.kube.client import ApiCall
from tests.cloud.node_samples import new_node, node
from tests.cloud.nodes.node_world import NodeWorld
from tests.cloud.upstream_policies import UPSTREAM_INITIALIZATION, UPSTREAM_LIFECYCLE

pytestmark = pytest.mark.looptime


@dataclass
class MortalWorld(NodeWorld):
    """A process that dies at its write number `dies_at`, with or without having it `delivered`."""

    dies_at: int = -1
    delivered: bool = False
    is_upstream: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.is_dead = asyncio.Event()
        send = self.api.send

        async def mortal_send(call: ApiCall) -> bytes:
            if self.is_dead.is_set():
                await asyncio.Event().wait()
            answer = b"" if len(self.api.calls) == self.dies_at and not self.delivered else await send(call)
            if not answer or len(self.api.calls) == self.dies_at + 1 > 0:
                self.is_dead.set()
                await asyncio.Event().wait()
            return answer

        self.api.send = mortal_send  # type: ignore[method-assign]

    @property
    def loops(self) -> list[Callable[[], Any]]:
        parts = self.parts
        first = UPSTREAM_INITIALIZATION if self.is_upstream else InitializationPolicy()
        life = UPSTREAM_LIFECYCLE if self.is_upstream else LifecyclePolicy()
        return [
            InitializationLoop(parts, first).run,
            LifecycleLoop(parts, life).run,
            AddressLoop(parts, replace(AddressPolicy(), syncs_labels=True)).run,
        ]

    async def live_until(self, seconds: float) -> None:
        """Run all loops so long, or until death."""
        tasks = [asyncio.create_task(part()) for part in (self.nodes.follow, *self.loops)]
        dying = asyncio.create_task(self.is_dead.wait())
        await asyncio.wait([*tasks, dying], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in (*tasks, dying):
            task.cancel()
        await asyncio.gather(*tasks, dying, return_exceptions=True)


def populate(world: MortalWorld) -> None:
    """One Node that is new, one whose machine is gone, one whose machine is off, and one that vouches."""
    world.cloud.add("new", rack="1")
    world.api.put(new_node("new", uid="u-1"))
    world.api.put(node("gone", None, "sim://gone", uid="u-2"))
    world.cloud.add("off")
    world.cloud.stop("off")
    world.api.put(node("off", False, "sim://off", uid="u-3"))
    for name in ("well", "moved"):
        world.cloud.add(name)
        world.api.put(node(name, True, f"sim://{name}", uid=name))


def end_state(world: MortalWorld) -> dict[str, Any]:
    """All Nodes without what depends on the number of writes."""
    objects = world.api.cluster.objects
    return {
        key.name: (obj["spec"], obj["status"], obj["metadata"].get("labels")) for key, obj in sorted(objects.items())
    }


async def live_twice(dies_at: int, delivered: bool, is_upstream: bool) -> tuple[dict[str, Any], int]:
    """The end after a death and a second life, and the writes of the first."""
    first = MortalWorld(dies_at=dies_at, delivered=delivered, is_upstream=is_upstream)
    populate(first)
    await first.live_until(400)
    writes = len(first.api.calls)
    second = MortalWorld(is_upstream=is_upstream, cloud=first.cloud)
    for obj in first.api.cluster.objects.values():
        second.api.cluster.put(obj)
    await second.live_until(400)
    return end_state(second), writes


@pytest.mark.slow
@pytest.mark.parametrize("is_upstream", [False, True], ids=["default", "upstream"])
async def test_death_at_any_write_leads_to_the_same_end(is_upstream: bool) -> None:
    expected, writes = await live_twice(-1, delivered=True, is_upstream=is_upstream)
    assert (list(expected), writes > 6) == (["moved", "new", "off", "well"], True)
    for number in range(writes):
        for delivered in (False, True):
            end, _ = await live_twice(number, delivered, is_upstream)
            assert end == expected, f"died at write {number}, delivered: {delivered}"


@pytest.mark.slow
async def test_call_that_was_under_way_at_the_death_is_repeated() -> None:
    world = MortalWorld()
    populate(world)
    world.cloud.seconds[verbs.INSTANCES] = 30.0
    await world.live_until(15)
    assert (world.api.calls, len(world.cloud.calls)) == ([], 3)
    world.cloud.seconds.clear()
    await world.live_until(400)
    assert list(end_state(world)) == ["moved", "new", "off", "well"]
