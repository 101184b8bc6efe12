"""A candidate that is stopped while it takes the Lease gives it back, in virtual time: no other waits for 15 s.

Each request takes 0.2 s to the server and 0.2 s back, where a test does not say otherwise.

Level: FakeApi.
"""

import asyncio

import pytest

from hookrunner.controllers.leader_election import LeaderElector
from hookrunner.errors import Unreachable
from tests.controllers.lease_server import LeaseServer, Trouble, lock
from tests.tables import each

pytestmark = pytest.mark.looptime(noop_cycles=2)


async def slow() -> None:
    await asyncio.sleep(0.2)


async def lead() -> None:
    raise AssertionError("it was stopped before it could lead")


async def stop_candidate(server: LeaseServer, seconds: float, trouble: Trouble = slow) -> LeaderElector:
    """Stop a candidate after so many seconds; it has ended."""
    elector = LeaderElector(server.client(trouble), lock("a"))
    task = asyncio.create_task(elector.run(lead))
    await asyncio.sleep(seconds)
    task.cancel()
    await asyncio.wait({task})
    assert (task.cancelled(), elector.is_leader) == (True, False)
    return elector


@each("seconds", [0.3, 0.5], ids=["before its request arrives", "before the answer"])
async def test_a_lease_that_was_just_taken_is_given_back(seconds: float) -> None:
    server = LeaseServer()
    await stop_candidate(server, seconds)  # nothing to read after 0.2 s; the POST arrives after 0.4 s
    assert (server.verbs, server.holder) == (["GET", "POST", "PUT"], "")


async def test_a_lease_of_another_is_left_to_it() -> None:
    server = LeaseServer()
    server.put("other")
    elector = await stop_candidate(server, 5)
    assert (set(server.verbs), server.holder, elector.holder) == ({"GET"}, "other", "other")


async def test_a_candidate_that_does_not_know_whether_it_took_the_lease_looks_first() -> None:
    """The answer was lost."""
    server, lost = LeaseServer(), list[str]()

    async def lose_the_answer() -> None:
        if server.verbs == ["GET", "POST"] and not lost:
            lost.append("POST")
            raise Unreachable("connection reset")

    await stop_candidate(server, 0.5, lose_the_answer)
    assert (lost, server.verbs, server.holder) == (["POST"], ["GET", "POST", "GET", "PUT"], "")


async def test_a_server_that_does_not_answer_holds_up_the_stop_for_two_seconds() -> None:
    server, loop = LeaseServer(), asyncio.get_running_loop()

    async def hang() -> None:
        await asyncio.sleep(60 if server.verbs else 0)

    began = loop.time()
    await stop_candidate(server, 1, hang)
    assert loop.time() - began == pytest.approx(3, abs=0.1)
