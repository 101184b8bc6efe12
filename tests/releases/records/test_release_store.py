"""Changes of records by other clients are reported, our own are not. Level: sandbox."""

import asyncio
import gc
from collections.abc import AsyncGenerator
from contextlib import aclosing

import orjson
import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.events import ObjectSeen
from hookrunner.model.resources import Selection
from hookrunner.releases.records.record import ReleaseRecord, RevisionStatus, new_record
from hookrunner.releases.records.record_storage import RecordStorage
from hookrunner.settings import KubeSettings
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.fakes.cluster import until
from tests.releases.wants import configmap, wanted
from tests.releases.world import started

A, B = configmap("a", x="1"), configmap("b", x="1")


class Late(Client):
    """Its answers come when the watches have told of the change already."""

    seen: set[str]

    async def send(self, call: ApiCall) -> bytes:
        answer = await super().send(call)
        if call.method in ("POST", "PUT") and "secrets" in call.path:
            version = orjson.loads(answer)["metadata"]["resourceVersion"]
            await until(lambda: version in self.seen)
        return answer

    async def watch(self) -> None:
        """Until cancelled."""
        async for reports in Watches(self, Discovery(self), Metrics(""), 75).open(Selection("v1", "Secret", "default")):
            self.seen |= {report.version for report in reports if isinstance(report, ObjectSeen)}


async def told(changes: AsyncGenerator[str, None]) -> str:
    async with asyncio.timeout(60):
        return await anext(changes)


async def marked(client: Client, name: str) -> None:
    """Write a release of another name: everything reported before it is then complete."""
    document = new_record(wanted("d"), 1, RevisionStatus.DEPLOYED).document
    await RecordStorage(client, "secret").write(ReleaseRecord(document | {"name": name}))


async def test_only_changes_of_others_are_reported(client: Client, sandbox: Sandbox) -> None:
    releases = started(client)
    async with aclosing(releases.watch_changes("default")) as changes:
        first = asyncio.ensure_future(told(changes))
        await until(lambda: sandbox.faults.watching("secrets") > 0)
        await releases.reconcile(wanted("d1", A))
        await releases.reconcile(wanted("d2", B))
        await releases.removal.uninstall("demo", "default")
        await marked(client, "theirs")
        assert await first == "theirs"


@pytest.mark.slow
async def test_records_at_the_start_are_not_reported_even_after_an_outage(client: Client, sandbox: Sandbox) -> None:
    await marked(client, "old")
    away = sandbox.faults.add(Fault("refuse", "secrets"))
    async with aclosing(started(client).watch_changes("default")) as changes:
        first = asyncio.ensure_future(told(changes))
        await until(lambda: any("secrets?" in line for line in sandbox.faults.requests))
        sandbox.faults.remove(away)
        await until(lambda: sandbox.faults.watching("secrets") > 0)
        await marked(client, "new")
        assert await first == "new"


async def test_own_writes_are_not_reported_even_if_the_watch_was_quicker(client: Client, sandbox: Sandbox) -> None:
    async with Late(Credentials(KubeSettings(), Connection(sandbox.url)), Requests(Metrics(""))) as late:
        releases, late.seen = started(late), set()
        async with aclosing(releases.watch_changes("default")) as changes:
            first = asyncio.ensure_future(told(changes))
            await until(lambda: sandbox.faults.watching("secrets") == 1)
            watching = asyncio.ensure_future(late.watch())
            await until(lambda: sandbox.faults.watching("secrets") == 2)
            await releases.reconcile(wanted("d1", A))
            await releases.reconcile(wanted("d2", B))
            await marked(client, "theirs")
            assert await first == "theirs"
            watching.cancel()


async def test_rollback_by_another_client_is_reported_once(client: Client, sandbox: Sandbox) -> None:
    releases = started(client)
    await releases.reconcile(wanted("d1", A))
    await releases.reconcile(wanted("d2", B))
    async with aclosing(releases.watch_changes("default")) as changes:
        first = asyncio.ensure_future(told(changes))
        await until(lambda: sandbox.faults.watching("secrets") > 0)
        await started(client).rollback("demo", "default", 1, "other")
        assert await first == "demo"
        await marked(client, "then")
        assert await told(changes) == "then"
        sandbox.faults.requests.clear()
        assert (await releases.reconcile(wanted("d2", B))).head.revision == 4
        assert not [line for line in sandbox.faults.requests if "labelSelector" in line]
        await marked(client, "last")
        assert await told(changes) == "last"


async def test_changes_during_a_lost_watch_are_reported(client: Client, sandbox: Sandbox) -> None:
    releases = started(client)
    await releases.reconcile(wanted("d1", A))
    async with aclosing(releases.watch_changes("default")) as changes:
        first = asyncio.ensure_future(told(changes))
        await until(lambda: sandbox.faults.watching("secrets") > 0)
        lost = sandbox.faults.add(Fault("drop", "secrets"))
        await started(client).removal.uninstall("demo", "default")
        sandbox.faults.remove(lost)
        await sandbox.faults.expire("secrets")
        assert await first == "demo"


async def test_revision_of_another_client_is_seen_the_next_time(client: Client) -> None:
    releases = started(client)
    await releases.reconcile(wanted("d1", A))
    await started(client).reconcile(wanted("d2", B))
    with pytest.raises(ReleaseFailed, match="release default/demo: another client has written revision 1 of it"):
        await releases.reconcile(wanted("d3", A))
    assert (await releases.reconcile(wanted("d3", A))).head.revision == 3


async def test_calls_about_one_release_wait_for_each_other(client: Client) -> None:
    releases = started(client)
    await asyncio.gather(
        *(releases.reconcile(wanted(f"d{number}", configmap("a", x=str(number)))) for number in range(5))
    )
    assert (await releases.list_heads("default"))["demo"].revision == 5


@pytest.mark.slow
async def test_releases_that_no_task_holds_leave_no_locks(client: Client) -> None:
    releases = started(client)
    await releases.removal.uninstall("first", "default")
    before = _locks()
    for number in range(100):
        assert not await releases.removal.uninstall(f"r{number}", "default")
    assert _locks() == before


def _locks() -> int:
    gc.collect()
    return sum(type(thing) is asyncio.Lock for thing in gc.get_objects())
