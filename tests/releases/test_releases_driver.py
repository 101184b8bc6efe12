"""Another `--helm-driver` than before: releases are refused until their records are moved. Level: sandbox."""

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import Client
from hookrunner.releases.records.record import ReleaseRecord, RevisionStatus, new_record
from hookrunner.releases.records.record_storage import RecordStorage
from kubesandbox.faults import Fault
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


async def test_our_release_with_records_of_another_driver_is_neither_read_nor_written(
    client: Client, world: World, before: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    releases = started(client)
    assert await releases.list_heads("default") == {}
    assert "start with --helm-driver configmap" in capfd.readouterr().err
    refused = "release default/demo: its records are ConfigMaps, not Secrets: start with --helm-driver configmap"
    with pytest.raises(ReleaseFailed, match=refused):
        await releases.read_head("demo", "default")
    with pytest.raises(ReleaseFailed, match=refused):
        await releases.reconcile(wanted("d3", A))
    assert (world.writes(), await elsewhere(client)) == ([], before)
    assert (await releases.read_heads("default")).keys() == {"demo"}


async def test_release_is_taken_up_where_it_was_when_its_records_were_moved(
    client: Client, world: World, before: list[str]
) -> None:
    releases = started(client)
    with pytest.raises(ReleaseFailed):
        await releases.reconcile(wanted("d3", A))
    revisions, _ = await RecordStorage(client, "configmap").list_revisions("default")
    for revision in revisions:
        with pytest.raises(ReleaseFailed):
            await releases.reconcile(wanted("d3", A))
        await world.records.write(await RecordStorage(client, "configmap").read(revision))
    for revision in revisions:
        await RecordStorage(client, "configmap").delete(revision)
    assert (await releases.reconcile(wanted("d3", A))).head.revision == 3
    assert await world.maps() == {"a": {"x": "1"}}
    assert await world.history() == ["1 superseded", "2 superseded", "3 deployed"]


async def test_release_of_helm_with_another_driver_is_refused_only_when_it_is_written(
    client: Client, world: World
) -> None:
    await started(client, driver="configmap").reconcile(wanted("d1", A, B))
    (revision,), _ = await RecordStorage(client, "configmap").list_revisions("default")
    record = await RecordStorage(client, "configmap").read(revision)
    await RecordStorage(client, "configmap").write(ReleaseRecord(record.document), revision)
    releases = started(client)
    assert await releases.read_head("demo", "default") is None
    with pytest.raises(ReleaseFailed, match="its records are ConfigMaps"):
        await releases.reconcile(wanted("d1", A))
    assert (sorted(await world.maps())[:2], await world.history()) == (["a", "b"], [])


async def test_second_history_that_ended_earlier_is_ignored(client: Client, world: World, before: list[str]) -> None:
    await world.foreign(new_record(wanted("", B), 7, RevisionStatus.DEPLOYED))
    head = await started(client).read_head("demo", "default")
    assert head
    assert head.revision == 7
    assert (await started(client).reconcile(wanted("d1", A))).head.revision == 8
    assert await elsewhere(client) == before


async def test_missing_right_for_the_other_kind_is_reported_unless_releases_are_ours(
    client: Client, world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    world.sandbox.faults.add(Fault("answer", f"GET {MAPS}?labelSelector", status=403))
    assert (await started(client).reconcile(wanted("d1", A))).head.revision == 1
    assert "grant list of ConfigMaps" in capfd.readouterr().err
    await started(client).read_head("demo", "default")
    assert capfd.readouterr().err == ""
