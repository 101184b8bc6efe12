"""Random histories of Services, Nodes, a cloud with faults, lost watches and killed processes: in the end each Service
has its load balancer, or no finalizer, and the cloud has no load balancer besides.

Level: FakeApi."""

import asyncio
from contextlib import AsyncExitStack
from typing import TypeAlias

import looptime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookrunner.cloud.answers import ErrorCode, ProviderError
from hookrunner.cloud.provider.cloud_verb import CloudVerb
from hookrunner.cloud.services.cloud_service import CLEANUP_FINALIZER
from hookrunner.cloud.services.service_decisions import ServicePolicy
from hookrunner.errors import Conflict
from hookrunner.model.events import WatchLost, WatchRestored
from tests.cloud.node_samples import node
from tests.cloud.services.balancer_world import DELETE, ENSURE, UPDATE, BalancerWorld
from tests.cloud.services.service_samples import service
from tests.cloud.upstream_policies import UPSTREAM_SERVICES

NAMES = ("one", "two")
HEALED = 2000

Step: TypeAlias = tuple[object, ...]

NAME = st.sampled_from(NAMES)
CODES = sorted(set(ErrorCode) - {ErrorCode.IMPLEMENTED_ELSEWHERE})
"""Who says that load balancers are deleted elsewhere keeps those that are here."""
FAILURES = st.tuples(st.just("fail"), st.sampled_from((ENSURE, UPDATE, DELETE)), st.sampled_from(CODES))
STEPS = st.one_of(
    st.tuples(st.sampled_from(("create", "annotate", "delete", "plain", "wanted", "rip", "replace")), NAME),
    st.tuples(st.sampled_from(("add node", "drop node")), st.sampled_from(("a", "b", "c"))),
    st.tuples(st.sampled_from(("conflict", "lose", "restore", "kill", "heal"))),
    st.tuples(st.just("slow"), st.sampled_from((ENSURE, UPDATE, DELETE)), st.sampled_from((0.0, 3.0, 20.0))),
    st.tuples(st.just("wait"), st.sampled_from((0, 1, 6, 50))),
    FAILURES,
)


class History:
    """Carries out steps. What a killed process knew of a Service whose finalizer was taken away by hand is lost, so
    histories have either kills or such hands."""

    def __init__(self, policy: ServicePolicy, has_kills: bool) -> None:
        self.world = BalancerWorld(policy=policy)
        self._stack = AsyncExitStack()
        self._has_kills = has_kills

    async def begin(self) -> None:
        await self._stack.enter_async_context(self.world.run_loop())

    async def kill(self) -> None:
        await self._stack.aclose()
        await self.begin()

    async def do(self, step: Step) -> None:
        match step:
            case ("kill",):
                await self.kill() if self._has_kills else None
            case ("wait", int(seconds)):
                await self.world.rest(seconds)
            case ("fail", CloudVerb() as verb, ErrorCode() as code):
                self.world.cloud.fail(verb, ProviderError(code, "so it is", 7), times=3)
            case ("slow", CloudVerb() as verb, float(seconds)):
                self.world.cloud.seconds[verb] = seconds
            case ("add node" | "drop node" as what, str(name)):
                self._change_node(str(what), name)
            case (str(what), str(name)):
                self._change_service(what, name)
            case (str(what),):
                self._disturb(what)

    def _disturb(self, what: str) -> None:
        if what == "conflict":
            self.world.api.refuse("PATCH", "/status", Conflict(409, "Conflict", "modified"), times=2)
        elif what == "heal":
            for verb in (ENSURE, UPDATE, DELETE):
                self.world.cloud.fail(verb, ProviderError(ErrorCode.UNAVAILABLE, ""), times=0)
        else:
            self.world.api.cluster.tell(WatchLost("cut", brief=True) if what == "lose" else WatchRestored())

    def _change_node(self, what: str, name: str) -> None:
        if what == "add node":
            self.world.api.put(node(name))
        elif self.world.api.has("Node", name):
            self.world.api.delete("Node", name)

    def _change_service(self, what: str, name: str) -> None:
        world = self.world
        if not world.exists(name):
            if what == "create":
                world.api.put(service(name))
            return
        count = len(world.cloud.calls)
        match what:
            case "annotate":
                world.annotate(name, str(count))
            case "delete":
                world.delete(name)
            case "plain":
                world.change({"spec": {"type": "ClusterIP"}, "status": {"loadBalancer": {"ingress": None}}}, name)
            case "wanted":
                world.change({"spec": {"type": "LoadBalancer"}}, name)
            case "rip" | "replace" if not self._has_kills:
                world.remove(name)
                if what == "replace":
                    world.api.put(service(name))

    async def end(self) -> None:
        self._disturb("heal")
        self._disturb("restore")
        self.world.cloud.seconds.clear()
        await self.world.rest(HEALED)
        for name in filter(self.world.exists, NAMES):
            self._change_service("annotate", name)
        await self.world.rest(HEALED)
        await self._stack.aclose()


def check_end(world: BalancerWorld) -> None:
    wanted = {}
    for name in filter(world.exists, NAMES):
        live = world.live(name)
        is_wanted = live["spec"]["type"] == "LoadBalancer"
        assert "deletionTimestamp" not in live["metadata"], name
        assert world.finalizers(name) == [CLEANUP_FINALIZER] * is_wanted, name
        assert bool(world.addresses(name)) == is_wanted, name
        if is_wanted:
            wanted[live["metadata"]["uid"]] = world.addresses(name)
    balancers = world.cloud.load_balancers
    assert {uid: [entry.ip for entry in lb.ingress] for uid, lb in balancers.items()} == wanted
    nodes = tuple(sorted(name for name in ("a", "b", "c") if world.api.has("Node", name)))
    assert [lb.nodes for lb in balancers.values()] == [nodes] * len(balancers)


async def live_through(history: History, steps: list[Step]) -> None:
    await history.begin()
    for step in steps:
        await history.do(step)
        await asyncio.sleep(0)
    await history.end()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=25), st.booleans(), st.sampled_from((ServicePolicy(), UPSTREAM_SERVICES)))
def test_every_service_ends_with_its_load_balancer_or_without_a_finalizer(
    steps: list[Step], has_kills: bool, policy: ServicePolicy
) -> None:
    with asyncio.Runner(loop_factory=looptime.new_event_loop) as runner:
        history = History(policy, has_kills)
        runner.run(live_through(history, [("create", "one"), *steps]))
    check_end(history.world)
