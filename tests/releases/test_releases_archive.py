"""What others do to the records of releases is heard of; what we do is not news."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import Client
from hookrunner.releases.codec import Record, Status, recorded
from hookrunner.releases.records import Records
from hookrunner.sandbox.faults import Fault
from hookrunner.sandbox.sandbox import Sandbox
from tests.fakes.cluster import until
from tests.releases.wants import configmap, wanted
from tests.releases.world import started

A, B = configmap("a", x="1"), configmap("b", x="1")


async def told(changes: AsyncGenerator[str, None]) -> str:
    async with asyncio.timeout(10):
        return await anext(changes)


async def marked(client: Client, name: str) -> None:
    """A release of another name, so that what was told before it is known to be all."""
    document = recorded(wanted("d"), 1, Status.DEPLOYED).document
    await Records(client, "secret").create(Record(document | {"name": name}))


async def test_only_what_others_did_is_told(client: Client, sandbox: Sandbox) -> None:
    releases = started(client)
    async with aclosing(releases.changes("default")) as changes:
        first = asyncio.ensure_future(told(changes))
        await until(lambda: sandbox.faults.watching("secrets") > 0)
        await releases.settle(wanted("d1", A))
        await releases.settle(wanted("d2", B))
        await releases.uninstall("demo", "default")
        await marked(client, "theirs")
        assert await first == "theirs"


async def test_a_rollback_by_somebody_else_is_told_once_and_known(client: Client, sandbox: Sandbox) -> None:
    releases = started(client)
    await releases.settle(wanted("d1", A))
    await releases.settle(wanted("d2", B))
    async with aclosing(releases.changes("default")) as changes:
        first = asyncio.ensure_future(told(changes))
        await until(lambda: sandbox.faults.watching("secrets") > 0)
        await started(client).rollback("demo", "default", 1, "other")
        assert await first == "demo"
        await marked(client, "then")
        assert await told(changes) == "then"
        sandbox.faults.requests.clear()
        assert (await releases.settle(wanted("d2", B))).head.revision == 4
        assert not [line for line in sandbox.faults.requests if "labelSelector" in line]
        await marked(client, "last")
        assert await told(changes) == "last"


async def test_what_happened_while_the_watch_was_away_is_told(client: Client, sandbox: Sandbox) -> None:
    releases = started(client)
    await releases.settle(wanted("d1", A))
    async with aclosing(releases.changes("default")) as changes:
        first = asyncio.ensure_future(told(changes))
        await until(lambda: sandbox.faults.watching("secrets") > 0)
        lost = sandbox.faults.add(Fault("drop", "secrets"))
        await started(client).uninstall("demo", "default")
        sandbox.faults.remove(lost)
        await sandbox.faults.expire("secrets")
        assert await first == "demo"


async def test_a_number_that_somebody_else_took_is_seen_the_next_time(client: Client) -> None:
    releases = started(client)
    await releases.settle(wanted("d1", A))
    await started(client).settle(wanted("d2", B))
    with pytest.raises(ReleaseFailed, match="release default/demo: somebody else has written revision 1 of it"):
        await releases.settle(wanted("d3", A))
    assert (await releases.settle(wanted("d3", A))).head.revision == 3


async def test_calls_about_one_release_wait_for_each_other(client: Client) -> None:
    releases = started(client)
    await asyncio.gather(*(releases.settle(wanted(f"d{number}", configmap("a", x=str(number)))) for number in range(5)))
    assert (await releases.heads("default"))["demo"].revision == 5
