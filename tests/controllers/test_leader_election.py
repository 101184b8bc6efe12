"""Who leads, in virtual time; `test_two_replicas_never_lead_at_once` is the property that all the rest serves. There is
no I/O, so a few idle cycles of the loop are enough.

Level: FakeApi."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from hookrunner.controllers.leader_election import LeaderElector, new_identity
from hookrunner.errors import Denied, Unreachable
from tests.controllers.lease_server import LeaseServer, Trouble, lock, no_trouble
from tests.examples import several

pytestmark = pytest.mark.looptime(noop_cycles=2)


def now() -> float:
    return asyncio.get_running_loop().time()


@dataclass(eq=False)
class Replica:
    """A manager that leads when it may; `led` has the begin and the end of each time."""

    server: LeaseServer
    name: str
    trouble: Trouble = no_trouble
    led: list[list[float]] = field(default_factory=list)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.elector = LeaderElector(self.server.client(self.trouble), lock(self.name))

    async def lead(self) -> None:
        self.led.append([now(), float("inf")])
        try:
            await self.stop.wait()
        finally:
            self.led[-1][1] = now()

    @property
    def leads(self) -> bool:
        return bool(self.led) and self.led[-1][1] == float("inf")


class Network:
    """Cut off, or not."""

    def __init__(self) -> None:
        self.is_cut = False

    async def trouble(self) -> None:
        if self.is_cut:
            raise Unreachable("connection refused")


@asynccontextmanager
async def running(*replicas: Replica) -> AsyncIterator[None]:
    """Each competes, a moment after the one before."""
    async with asyncio.TaskGroup() as group:
        tasks = []
        for replica in replicas:
            tasks.append(group.create_task(replica.elector.run(replica.lead)))
            await asyncio.sleep(0.1)
        yield
        for task in tasks:
            task.cancel()


async def test_first_replica_leads_and_renews_with_one_request(server: LeaseServer) -> None:
    replica = Replica(server, "a")
    async with running(replica):
        await asyncio.sleep(60)
        assert (replica.leads, replica.elector.is_leader) == (True, True)
        assert server.verbs == ["GET", "POST", *["PUT"] * 30]
        first, last = server.written[0], server.written[-1]
        assert (first["acquireTime"], first["leaseTransitions"]) == (last["acquireTime"], last["leaseTransitions"])


async def test_second_replica_waits_and_leads_soon_after_the_first_stops(server: LeaseServer) -> None:
    first, second = Replica(server, "a"), Replica(server, "b")
    async with running(first, second):
        await asyncio.sleep(60)
        assert (first.leads, second.leads, second.elector.holder) == (True, False, "a")
        first.stop.set()
        await asyncio.sleep(2.5)
        assert (first.leads, second.leads, server.holder) == (False, True, "b")
        assert not first.elector.is_leader


async def test_released_lease_is_as_client_go_leaves_it(server: LeaseServer) -> None:
    async with running(Replica(server, "a")):
        await asyncio.sleep(1)
    assert (server.holder, server.lease["spec"]["leaseDurationSeconds"]) == ("", 1)


async def test_renewal_that_arrives_after_the_stop_does_not_keep_the_lease(server: LeaseServer) -> None:
    async def delay() -> None:
        await asyncio.sleep(0.2)

    replica = Replica(server, "a", delay)
    async with running(replica):
        await asyncio.sleep(2.8)  # its PUT arrives in 0.1 s
        replica.stop.set()
        await asyncio.sleep(2)
        assert server.verbs == ["GET", "POST", "PUT", "PUT", "GET", "PUT"]
        assert server.holder == ""


async def test_lease_of_a_replica_that_died_is_taken_when_it_runs_out(server: LeaseServer) -> None:
    server.put("dead", seconds=40)
    replica = Replica(server, "a")
    async with running(replica):
        await asyncio.sleep(60)
    assert replica.led[0][0] == pytest.approx(40, abs=0.1)
    assert server.written[1]["leaseTransitions"] == 5


async def test_lease_that_is_renewed_is_never_taken(server: LeaseServer) -> None:
    """Also by a manager whose wall clock is an hour behind."""
    replica = Replica(server, "a")
    server.put("upstream")
    async with running(replica):
        for number in range(30):
            server.put("upstream", renewTime=f"1970-01-01T00:00:{number:02}.000000Z")
            await asyncio.sleep(10)
    assert replica.led == []


async def test_leader_that_is_cut_off_stops_before_another_leads(server: LeaseServer) -> None:
    network = Network()
    first, second = Replica(server, "a", network.trouble), Replica(server, "b")
    async with running(first, second):
        await asyncio.sleep(60)
        network.is_cut = True
        await asyncio.sleep(60)
        assert first.led[0][1] <= 60 + 0.2 + 10
        assert first.led[0][1] + 3 < second.led[0][0] <= 60 + 0.2 + 15 + 2
        network.is_cut = False
        await asyncio.sleep(60)
    assert (len(first.led), len(second.led)) == (1, 1)


async def test_short_cut_costs_nothing(server: LeaseServer) -> None:
    network = Network()
    replica = Replica(server, "a", network.trouble)
    async with running(replica):
        for _ in range(5):
            await asyncio.sleep(20)
            network.is_cut = True
            await asyncio.sleep(5)
            network.is_cut = False
    assert len(replica.led) == 1


async def test_leader_stops_at_once_when_another_took_over(server: LeaseServer) -> None:
    first, cleaner = Replica(server, "a"), Replica(server, "clean")
    async with running(first):
        await asyncio.sleep(60)
        assert await cleaner.elector.take_over() == pytest.approx(15)
        assert await cleaner.elector.take_over() == 0
        async with running(cleaner):
            await asyncio.sleep(60)
            assert first.led[0][1] <= 60 + 0.1 + 2
            assert (len(first.led), cleaner.leads) == (1, True)
        await asyncio.sleep(3)
        assert len(first.led) == 2


async def test_leader_that_was_replaced_does_not_lead_while_its_tasks_clean_up(server: LeaseServer) -> None:
    """Their last writes would cross with those of the new leader."""
    led = list[tuple[bool, str]]()

    class Careful(Replica):
        async def lead(self) -> None:
            try:
                await super().lead()
            finally:
                await asyncio.sleep(3)
                led.append((self.elector.is_leader, server.holder))

    first, cleaner = Careful(server, "a"), Replica(server, "clean")
    async with running(first):
        await asyncio.sleep(60)
        await cleaner.elector.take_over()
        await asyncio.sleep(6)
        assert led == [(False, "clean")]


async def test_take_over_does_not_wait_for_years(server: LeaseServer) -> None:
    server.put("upstream", 2**31 - 1)
    assert await Replica(server, "clean").elector.take_over() == 300


async def test_lease_can_be_reserved_after_the_end(server: LeaseServer) -> None:
    """So that no other replica makes anew what was just taken away."""

    async def lead() -> None:
        await asyncio.sleep(1)

    await LeaderElector(server.client(), lock("clean"), reserve=60.0).run(lead)
    replica = Replica(server, "a")
    async with running(replica):
        await asyncio.sleep(70)
    assert replica.led[0][0] == pytest.approx(61, abs=0.5)


async def test_leader_that_was_stopped_for_long_knows_at_once_that_it_leads_no_more(server: LeaseServer) -> None:
    replica = Replica(server, "a")
    async with running(replica):
        await asyncio.sleep(11)
        assert replica.elector.is_leader
        replica.elector._leads_until -= 10  # as if SIGSTOP had come
        assert not replica.elector.is_leader


async def test_deleted_lease_is_created_again_by_the_leader(server: LeaseServer) -> None:
    first, second = Replica(server, "a"), Replica(server, "b")
    async with running(first):
        await asyncio.sleep(60)
        server.lease = None
        await asyncio.sleep(3)
        async with running(second):
            await asyncio.sleep(60)
    assert (len(first.led), second.led) == (1, [])


async def test_deleted_lease_is_left_to_its_holder_by_those_who_have_seen_it(server: LeaseServer) -> None:
    """Also if another client creates it first: then the holder stops at once."""
    first, second = Replica(server, "a"), Replica(server, "b")
    async with running(first, second):
        for _ in range(20):
            await asyncio.sleep(10.7)
            server.lease = None
        await asyncio.sleep(60)
        assert (len(first.led), second.led, server.holder) == (1, [], "a")
        server.lease = None
        server.put("upstream")
        await asyncio.sleep(2.5)
        assert not first.leads


async def test_deleted_lease_of_a_dead_holder_is_created_again_after_a_while(server: LeaseServer) -> None:
    for seconds, most in ((15, 19), (2**31 - 1, 304)):
        server.put("dead", seconds)
        replica, began = Replica(server, "a"), now()
        async with running(replica):
            await asyncio.sleep(1)
            server.lease = None
            await asyncio.sleep(400)
        assert most - 4 < replica.led[0][0] - began <= most


@pytest.mark.parametrize(
    "nonsense",
    [
        {"leaseTransitions": 2**31 - 1},
        {"leaseTransitions": "many", "leaseDurationSeconds": "15"},
        {"leaseDurationSeconds": None, "renewTime": "yesterday", "acquireTime": "9999-12-31T23:59:59.000000Z"},
        {"leaseDurationSeconds": -(2**31)},
        {"leaseDurationSeconds": True, "strategy": "OldestEmulationVersion"},
    ],
)
async def test_what_others_write_into_the_lease_stops_neither_leader_nor_candidate(
    server: LeaseServer, nonsense: dict[str, Any]
) -> None:
    first, second = Replica(server, "a"), Replica(server, "b")
    async with running(first, second):
        await asyncio.sleep(5)
        server.put("a", **nonsense)
        await asyncio.sleep(30)
        assert (len(first.led), second.led) == (1, [])
        server.put("\x1b[2J", **nonsense)
        await asyncio.sleep(20)
        assert [replica.leads for replica in (first, second)].count(True) == 1
        assert all(0 <= record["leaseTransitions"] < 2**31 for record in server.written[-3:])
        assert not first.elector.problem


async def test_holder_that_is_cleared_stops_and_one_of_all_leads_again(server: LeaseServer) -> None:
    first, second = Replica(server, "a"), Replica(server, "b")
    async with running(first, second):
        for holder in ("", None, "\x1b[2J"):
            await asyncio.sleep(30)
            server.put(holder, 15)
            await asyncio.sleep(20)
            assert [replica.leads for replica in (first, second)].count(True) == 1
    times = sorted(first.led + second.led)
    assert all(before[1] <= after[0] for before, after in pairwise(times)), times


async def test_missing_rights_are_explained_and_logged_once(
    server: LeaseServer, capfd: pytest.CaptureFixture[str]
) -> None:
    async def forbid() -> None:
        raise Denied(403, "Forbidden", 'leases is forbidden: User "x" cannot get resource "leases"')

    replica = Replica(server, "a", forbid)
    async with running(replica):
        await asyncio.sleep(60)
        assert "no right to use the Lease kube-system/cloud-controller-manager: add {" in replica.elector.problem
    assert capfd.readouterr().err.count("lease cannot be read or written") == 1


async def test_error_of_the_leader_gives_the_lease_back(server: LeaseServer) -> None:
    async def lead() -> None:
        raise KeyError("bug")

    with pytest.raises(ExceptionGroup):
        await Replica(server, "a").elector.run(lead)
    assert server.holder == ""


class BadNetwork:
    """Delays requests and answers of one replica, some up to the deadline of a request and some for long; loses some,
    and is cut at times."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.share_of_slow = chance.choice([0.0, 0.2, 0.7])
        self.is_cut = False

    async def trouble(self) -> None:
        longest = self.chance.choice([5.0, 5.0, 5.0, 60.0]) if self.chance.random() < self.share_of_slow else 0.1
        await asyncio.sleep(self.chance.uniform(0.0, longest))
        if self.is_cut or self.chance.random() < self.share_of_slow / 10:
            raise Unreachable("connection reset")


@pytest.mark.slow
@pytest.mark.parametrize("deletes", [False, True])
@pytest.mark.parametrize("seed", range(several(40)))
async def test_two_replicas_never_lead_at_once(seed: int, deletes: bool) -> None:
    """At times another manager takes the lease over, or a person deletes it. Requests that a replica has given up may
    arrive later."""
    chance, server = random.Random(seed), LeaseServer()
    networks = [BadNetwork(chance) for _ in range(3)]
    replicas = [Replica(server, str(number), network.trouble) for number, network in enumerate(networks)]
    async with running(*replicas):
        for _ in range(20):
            await asyncio.sleep(chance.expovariate(1 / 20))
            chance.choice(networks).is_cut ^= True
            if chance.random() < 0.05:
                server.put("upstream")
            if deletes and chance.random() < 0.2 and all(replica.elector.holder for replica in replicas):
                server.lease = None
    times = sorted(led for replica in replicas for led in replica.led)
    assert all(before[1] <= after[0] for before, after in pairwise(times)), times


def test_identities_differ_and_begin_with_the_host() -> None:
    assert new_identity() != new_identity()
    assert new_identity().startswith(f"{socket.gethostname()}_")


@pytest.fixture
def server() -> LeaseServer:
    return LeaseServer()
