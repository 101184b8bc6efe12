"""Another `--helm-driver` than before: releases are read where they are, and their records are migrated."""

import pytest

from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.releases.records.record import ReleaseRecord, RevisionStatus, new_record
from hookrunner.releases.records.record_storage import RecordStorage
from hookrunner.settings import KubeSettings
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.releases.mortal import Died, Mortal
from tests.releases.wants import configmap, wanted
from tests.releases.world import MAPS, World, started

A, B = configmap("a", x="1"), configmap("b", x="1")


@pytest.fixture
async def before(client: Client, world: World) -> list[str]:
    """Two revisions by the driver `configmap`; the expected records."""
    releases = started(client, driver="configmap")
    await releases.reconcile(wanted("d1", A, B))
    await releases.reconcile(wanted("d2", configmap("a", x="2"), B))
    world.writes()
    return ["1 superseded", "2 deployed"]


async def elsewhere(client: Client) -> list[str]:
    found, _ = await RecordStorage(client, "configmap").list_revisions("default")
    return sorted(f"{one.number} {one.status}" for one in found)


async def test_reading_does_not_migrate_records(client: Client, world: World, before: list[str]) -> None:
    releases = started(client)
    head = await releases.read_head("demo", "default")
    assert head
    assert (head.revision, head.digest, head.owned) == (2, "d2", True)
    assert [obj["data"]["x"] for obj in await releases.read_manifest(head)] == ["2", "1"]
    assert await releases.list_heads("default") == {}
    assert (world.writes(), await elsewhere(client)) == ([], before)


async def test_own_release_is_migrated_with_its_whole_history(client: Client, world: World, before: list[str]) -> None:
    releases = started(client)
    head = await releases.migrate_records("demo", "default")
    assert head
    assert (head.revision, head.digest) == (2, "d2")
    assert (await world.history(), await elsewhere(client)) == (before, [])
    assert (await releases.reconcile(wanted("d2", A))).changed == 0
    await releases.rollback("demo", "default", 1, "d2")
    assert (await world.maps())["a"] == {"x": "1"}


async def test_next_upgrade_prunes_objects_of_migrated_records(client: Client, world: World, before: list[str]) -> None:
    assert (await started(client).reconcile(wanted("d3", A))).head.revision == 3
    assert await world.maps() == {"a": {"x": "1"}}
    assert await world.history() == ["1 superseded", "2 superseded", "3 deployed"]
    assert await elsewhere(client) == []


async def test_release_of_helm_is_migrated_only_when_it_is_reconciled(client: Client, world: World) -> None:
    await started(client, driver="configmap").reconcile(wanted("d1", A, B))
    (revision,), _ = await RecordStorage(client, "configmap").list_revisions("default")
    record = await RecordStorage(client, "configmap").read(revision)
    await RecordStorage(client, "configmap").update(ReleaseRecord(record.document), revision)
    releases = started(client)
    head = await releases.migrate_records("demo", "default")
    assert (head and head.owned, await world.history()) == (False, [])
    assert (await releases.reconcile(wanted("d1", A))).head.revision == 2
    assert (sorted(await world.maps()), await elsewhere(client)) == (["a"], [])


@pytest.mark.parametrize("writes", range(4))
async def test_interrupted_migration_continues_where_it_ended(
    client: Client, world: World, sandbox: Sandbox, before: list[str], writes: int
) -> None:
    credentials = Credentials(KubeSettings(), Connection(sandbox.url))
    async with Mortal(credentials, Requests(Metrics("")), left=writes) as mortal:
        with pytest.raises(Died):
            await started(mortal).reconcile(wanted("d3", A))
    releases = started(client)
    head = await releases.read_head("demo", "default")
    assert head
    assert (head.revision, head.digest) == (2, "d2")
    await releases.migrate_records("demo", "default")
    assert (await world.history(), await elsewhere(client)) == (before, [])


async def test_second_history_is_ignored_and_reported(
    client: Client, world: World, before: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    await world.foreign(new_record(wanted("", B), 7, RevisionStatus.DEPLOYED))
    head = await started(client).read_head("demo", "default")
    assert head
    assert head.revision == 7
    assert (await started(client).reconcile(wanted("d1", A))).head.revision == 8
    assert await elsewhere(client) == before
    assert "kubectl delete configmap -n default -l owner=helm,name=demo" in capfd.readouterr().err


async def test_missing_right_for_the_other_kind_is_reported_unless_releases_are_ours(
    client: Client, world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    world.sandbox.faults.add(Fault("answer", f"GET {MAPS}?labelSelector", status=403))
    assert (await started(client).reconcile(wanted("d1", A))).head.revision == 1
    assert "grant get, list and delete of ConfigMaps" in capfd.readouterr().err
    await started(client).read_head("demo", "default")
    assert capfd.readouterr().err == ""
