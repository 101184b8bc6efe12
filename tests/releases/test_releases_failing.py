"""Failures, interruptions, and what other clients left: they are recorded and corrected. Level: sandbox."""

import asyncio
import re
from collections.abc import Awaitable
from typing import Any

import pytest

from hookrunner.errors import Denied, ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.releases import Head
from hookrunner.releases.records.record import DIGEST, RevisionStatus, new_record
from hookrunner.releases.releases import Releases
from kubesandbox.faults import Fault
from tests.fakes.second_writer import OvertakenClient
from tests.releases.wants import configmap, wanted
from tests.releases.world import World, started

A, B, C = configmap("a", x="1"), configmap("b", x="1"), configmap("c", x="1")
FIRST = "/api/v1/namespaces/default/secrets/sh.helm.release.v1.demo.v1"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
BAD = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bad"}, "data": 3}


async def test_pending_release_continues_under_its_number(releases: Releases, world: World) -> None:
    await world.foreign(new_record(wanted("", A), 1, RevisionStatus.SUPERSEDED))
    await world.foreign(new_record(wanted("", B), 2, RevisionStatus.PENDING_UPGRADE), **{DIGEST: "d1.v2"})
    await releases.reconcile(wanted("d1", A, B))
    assert await world.history() == ["1 superseded", "2 deployed"]
    assert await world.described(2) == "Upgrade complete"


async def test_release_left_pending_by_another_client_is_marked_interrupted(releases: Releases, world: World) -> None:
    await world.foreign(new_record(wanted("", A), 1, RevisionStatus.DEPLOYED))
    await world.foreign(new_record(wanted("", B), 2, RevisionStatus.PENDING_UPGRADE))
    await releases.reconcile(wanted("d1", A))
    assert await world.history() == ["1 superseded", "2 failed", "3 deployed"]
    assert await world.described(2) == "Interrupted while pending-upgrade"


async def test_interrupted_rollback_continues_as_a_rollback(releases: Releases, world: World) -> None:
    await releases.reconcile(wanted("d1", A))
    await releases.reconcile(wanted("d2", B))
    refused = world.sandbox.faults.add(Fault("answer", "POST /api/v1/namespaces/default/configmaps", status=403))
    with pytest.raises(ReleaseFailed):
        await releases.rollback("demo", "default", 1, "d2")
    world.sandbox.faults.remove(refused)
    settled = await releases.reconcile(wanted("d2", B))
    assert (settled.head.note, settled.head.revision) == ("pinned", 3)
    assert (sorted(await world.maps()), await world.described(3)) == (["a"], "Rollback to 1")


async def test_failure_is_recorded_and_names_its_object(releases: Releases, world: World) -> None:
    with pytest.raises(ReleaseFailed, match=r"(?s)release default/demo: .*ConfigMap/bad"):
        await releases.reconcile(wanted("d1", A, BAD))
    assert await world.history() == ["1 failed"]
    assert (await world.described(1)).startswith('Release "demo" failed: ')


async def test_release_that_always_fails_has_one_revision(client: Client, world: World) -> None:
    await started(client).reconcile(wanted("d1", A))
    for _ in range(3):
        with pytest.raises(ReleaseFailed):
            await started(client).reconcile(wanted("d2", A, BAD))
    assert await world.history() == ["1 deployed", "2 failed"]
    await started(client).reconcile(wanted("d3", A, B))
    assert await world.history() == ["1 superseded", "2 failed", "3 deployed"]


async def test_randomly_named_objects_of_failed_attempts_are_deleted(releases: Releases, world: World) -> None:
    for name in ("random-1", "random-2"):
        with pytest.raises(ReleaseFailed):
            await releases.reconcile(wanted("d1", configmap(name), BAD))
    await releases.reconcile(wanted("d1", A))
    assert await world.maps() == {"a": {"x": "1"}}


@pytest.mark.slow
async def test_old_revisions_are_pruned_except_the_deployed_one(client: Client, world: World) -> None:
    releases = started(client, keep=3)
    await releases.reconcile(wanted("d1", A))
    for number in range(5):
        with pytest.raises(ReleaseFailed):
            await releases.reconcile(wanted(f"bad-{number}", configmap(f"only-{number}"), BAD))
    assert await world.history() == ["1 deployed", "5 failed", "6 failed"]
    assert sorted(await world.maps()) == ["a", "only-3", "only-4"]
    for number in range(3):
        await releases.reconcile(wanted(f"good-{number}", configmap("a", x=str(number))))
    assert await world.history() == ["7 superseded", "8 superseded", "9 deployed"]
    assert sorted(await world.maps()) == ["a"]


async def test_a_failed_upgrade_is_rolled_back_and_not_tried_again(client: Client, world: World) -> None:
    bad = wanted("d2", configmap("a", x="2"), B, BAD, rollback_on_failure=True)
    await started(client).reconcile(wanted("d1", A))
    with pytest.raises(ReleaseFailed, match="rolled back to revision 1, until the desired release changes"):
        await started(client).reconcile(bad)
    assert await world.maps() == {"a": {"x": "1"}}
    assert await world.history() == ["1 superseded", "2 failed", "3 deployed"]
    world.writes()
    assert (await started(client).reconcile(bad)).head == Head(
        "demo", "default", 3, "deployed", "d2", True, False, "rolled-back"
    )
    assert not world.writes()
    assert (await started(client).reconcile(wanted("d3", A, B))).head.note == ""


async def test_a_rollback_counts_no_longer_when_its_content_is_desired_again(client: Client, world: World) -> None:
    """As when a user takes back the values that have failed."""
    good = wanted("d1", A, rollback_on_failure=True)
    await started(client).reconcile(good)
    with pytest.raises(ReleaseFailed, match="rolled back to revision 1"):
        await started(client).reconcile(wanted("d2", A, B, BAD, rollback_on_failure=True))
    head = (await started(client).reconcile(good)).head
    assert (head.revision, head.digest, head.note) == (3, "d1", "")
    assert await world.history() == ["1 superseded", "2 failed", "3 deployed"]


async def test_unreachable_server_causes_no_rollback(releases: Releases, world: World) -> None:
    await releases.reconcile(wanted("d1", A))
    away = world.sandbox.faults.add(Fault("refuse", "POST /api/v1/namespaces/default/configmaps"))
    with pytest.raises(ReleaseFailed):
        await releases.reconcile(wanted("d2", A, B, rollback_on_failure=True))
    assert await world.history() == ["1 deployed", "2 failed"]
    world.sandbox.faults.remove(away)
    await releases.reconcile(wanted("d2", A, B, rollback_on_failure=True))
    assert await world.history() == ["1 superseded", "2 deployed"]


async def test_a_missing_right_causes_no_rollback(client: OvertakenClient, releases: Releases, world: World) -> None:
    text = 'configmaps "a" is forbidden: User "me" cannot patch resource "configmaps" in API group ""'

    def refuse(call: ApiCall) -> None:
        if call.path.endswith("/configmaps/a"):
            raise Denied(403, "Forbidden", text)

    await releases.reconcile(wanted("d1", A))
    desired = wanted("d2", configmap("a", x="2"), rollback_on_failure=True)
    client.before_write = refuse
    with pytest.raises(ReleaseFailed, match="cannot patch resource"):
        await releases.reconcile(desired)
    client.before_write = lambda call: None
    await releases.reconcile(desired)
    assert (await world.maps(), await world.history()) == ({"a": {"x": "2"}}, ["1 superseded", "2 deployed"])


async def test_unreadable_records_do_not_block_releases(
    client: Client, world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    await started(client).reconcile(wanted("d1", A, B))
    await patched(client, {"data": {"release": "AAAA"}})
    releases = started(client)
    await releases.reconcile(wanted("d2", A))
    assert await world.history() == ["1 deployed", "2 deployed"]
    assert "sh.helm.release.v1.demo.v1" in capfd.readouterr().err
    world.writes()
    await releases.reconcile(wanted("d2", A))
    assert not world.writes()
    assert sorted(await world.maps()) == ["a", "b"]
    assert "delete them, then the record" in releases.problems("demo", "default")[0]
    await client.send(ApiCall("DELETE", FIRST))
    await releases.list_heads("default")
    assert releases.problems("demo", "default") == []


async def test_deployed_release_is_applied_again_once_its_record_is_unreadable(client: Client, world: World) -> None:
    """Not before: nothing to do costs no request."""
    head = (await started(client).reconcile(wanted("d1", A))).head
    await patched(client, {"data": {"release": "AAAA"}})
    releases = started(client)
    assert (await releases.reconcile(wanted("d1", A))).head == head
    assert await releases.read_manifest(head) == ()
    assert releases.is_broken(head)
    assert (await anext(releases.watch_unreadable()))[0] == "demo"
    settled = await releases.reconcile(wanted("d1", A))
    assert (settled.head.revision, releases.is_broken(settled.head)) == (2, False)
    assert await world.history() == ["1 deployed", "2 deployed"]


async def test_release_with_unknown_objects_is_not_uninstalled(client: Client) -> None:
    await started(client).reconcile(wanted("d1", A))
    await patched(client, {"data": {"release": "AAAA"}})
    with pytest.raises(ReleaseFailed, match="by hand, then kubectl delete secret -n default -l owner=helm,name=demo"):
        await started(client).removal.uninstall("demo", "default")


async def test_a_record_without_its_labels_is_named_with_how_to_put_them_back(client: Client, world: World) -> None:
    await started(client).reconcile(wanted("d1", A))
    await patched(client, {"metadata": {"labels": dict.fromkeys(("owner", "name", "version"))}})
    releases = started(client)
    with pytest.raises(ReleaseFailed, match=r"demo\.v1 has lost the labels") as failed:
        await releases.reconcile(wanted("d1", A))
    labels = dict(re.findall(r"(\w+)=(\w+)", str(failed.value)))
    assert labels == {"owner": "helm", "name": "demo", "version": "1", "status": "deployed"}
    await patched(client, {"metadata": {"labels": labels}})
    await releases.reconcile(wanted("d1", A))
    assert await world.history() == ["1 deployed"]


async def test_record_without_labels_and_content_should_be_deleted(client: Client) -> None:
    await started(client).reconcile(wanted("d1", A))
    await patched(client, {"metadata": {"labels": {"owner": None}}, "data": {"release": "AAAA"}})
    with pytest.raises(ReleaseFailed, match=r"demo\.v1: .* also lacks the labels of a record: delete it"):
        await started(client).reconcile(wanted("d1", A))


async def patched(client: Client, body: dict[str, Any]) -> None:
    """Another client changes the first record."""
    await client.send(ApiCall("PATCH", FIRST, {}, body, "application/merge-patch+json"))


@pytest.mark.looptime
async def test_object_that_is_deleted_while_it_is_awaited_is_written_once_more(
    releases: Releases, client: Client, world: World
) -> None:
    """Twice: what is deleted again is not fought for, and the run is repeated later."""
    pods = "/api/v1/namespaces/default/pods"
    async with asyncio.TaskGroup() as group:
        run = group.create_task(_failure(releases.reconcile(wanted("d1", POD, wait=True, timeout=1000))))
        for _ in range(2):
            await asyncio.sleep(5)
            assert len((await client.get(pods))["items"]) == 1
            await client.send(ApiCall("DELETE", f"{pods}/p"))
    assert "default/Pod/p was deleted while it was awaited" in run.result()
    assert asyncio.get_running_loop().time() < 100


async def _failure(run: Awaitable[object]) -> str:
    with pytest.raises(ReleaseFailed) as failure:
        await run
    return str(failure.value)
