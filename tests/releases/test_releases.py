"""The life of a release, step by step, on the sandbox. Level: sandbox."""

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import yaml

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.releases import Head, ObjectDrift, ReleaseOptions
from hookrunner.releases.records.record import CHECKSUM, QUICK_TO_PARSE, ReleaseRecord, RevisionStatus, new_record
from hookrunner.releases.releases import Releases
from hookrunner.releases.rollout import checksum
from kubesandbox.faults import Fault
from tests.fakes.cluster import until
from tests.releases.wants import configmap, hook, wanted
from tests.releases.world import MAPS, World, started

A, B, C = configmap("a", x="1"), configmap("b", x="1"), configmap("c", x="1")
BAD = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bad"}, "data": 3}


class CountingThreads(ThreadPoolExecutor):
    """Threads that count what they are given."""

    count = 0

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        self.count += 1
        return super().submit(*args, **kwargs)


async def test_a_release_is_installed_and_on_record_before_its_first_object(releases: Releases, world: World) -> None:
    settled = await releases.reconcile(wanted("d1", A, B))
    assert settled.head == Head("demo", "default", 1, "deployed", "d1", owned=True)
    assert settled.changed == 2
    assert world.writes() == [
        "POST secrets", "POST configmaps", "POST configmaps", "PUT secrets/sh.helm.release.v1.demo.v1"
    ]  # fmt: skip
    assert await world.described(1) == "Install complete"


async def test_release_in_sync_costs_no_request(client: Client, world: World) -> None:
    await started(client).reconcile(wanted("d1", A))
    releases = started(client)
    await releases.list_heads("default")
    world.sandbox.faults.requests.clear()
    assert (await releases.reconcile(wanted("d1", A))).changed == 0
    assert not world.sandbox.faults.requests


async def test_an_upgrade_writes_what_changed_and_prunes(releases: Releases, world: World) -> None:
    await releases.reconcile(wanted("d1", A, B, C))
    world.writes()
    assert (await releases.reconcile(wanted("d2", A, configmap("b", x="2")))).changed == 2
    assert await world.maps() == {"a": {"x": "1"}, "b": {"x": "2"}}
    assert await world.history() == ["1 superseded", "2 deployed"]
    assert not [line for line in world.writes() if "configmaps/a" in line]


async def test_an_upgrade_parses_nothing_and_so_waits_for_no_thread(releases: Releases) -> None:
    threads = CountingThreads()
    asyncio.get_running_loop().set_default_executor(threads)
    await releases.reconcile(wanted("d1", A, configmap("b", x="1" * QUICK_TO_PARSE)))
    await releases.reconcile(wanted("d2", A, configmap("b", x="2" * QUICK_TO_PARSE)))
    assert threads.count == 0


async def test_no_more_revisions_are_kept_than_configured(client: Client, world: World) -> None:
    releases = started(client, keep=2)
    for number in range(1, 5):
        await releases.reconcile(wanted(f"d{number}", configmap("a", x=str(number))))
    assert await world.history() == ["3 superseded", "4 deployed"]


async def test_object_in_another_form_is_not_pruned(releases: Releases, world: World) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": []}
    await releases.reconcile(wanted("d1", role | {"metadata": {"name": "reader", "namespace": "means-nothing"}}))
    await releases.reconcile(wanted("d2", role | {"metadata": {"name": "reader"}}))
    assert not [line for line in world.writes() if line.startswith("DELETE")]


async def test_another_digest_of_the_same_manifest_is_only_noted(releases: Releases, world: World) -> None:
    await releases.reconcile(wanted("d1", A))
    world.writes()
    assert (await releases.reconcile(wanted("d2", A))).head.digest == "d2"
    assert world.writes() == ["PUT secrets/sh.helm.release.v1.demo.v1"]
    (revision,) = await world.revisions()
    assert (await world.records.read(revision)).document["config"]["demo"] == {"digest": "d2"}


async def test_a_digest_that_leads_to_the_very_same_record_writes_nothing(releases: Releases, world: World) -> None:
    """The cluster serves other kinds than before, and the chart asks for them."""
    await releases.reconcile(wanted("d1", A))
    world.writes()
    assert (await releases.reconcile(replace(wanted("d1", A), digest="d2"))).changed == 0
    assert world.writes() == []


async def test_release_of_addon_operator_is_continued_in_place(releases: Releases, world: World) -> None:
    theirs = new_record(wanted("", A), 4, RevisionStatus.DEPLOYED)
    await world.foreign(theirs, **{CHECKSUM: "c", "team": "blue"})
    assert (await releases.list_heads("default"))["demo"] == Head("demo", "default", 4, "deployed", owned=True)
    world.writes()
    assert (await releases.reconcile(wanted("d1", A))).head == Head("demo", "default", 4, "deployed", "d1", owned=True)
    assert world.writes() == ["PUT secrets/sh.helm.release.v1.demo.v4"]
    (revision,) = await world.revisions()
    assert (revision.labels["team"], revision.labels[CHECKSUM]) == ("blue", checksum(theirs.manifest))


async def test_record_with_the_same_objects_in_another_form_is_continued(releases: Releases, world: World) -> None:
    """And it knows its own manifest again when it takes the release back."""
    theirs = new_record(wanted("", A, B), 4, RevisionStatus.DEPLOYED).document | {
        "manifest": yaml.safe_dump_all([B, A])
    }
    await world.foreign(ReleaseRecord(theirs), **{CHECKSUM: checksum(theirs["manifest"])})
    world.writes()
    assert (await releases.reconcile(wanted("d1", A, B))).head.digest == "d1"
    assert world.writes() == ["PUT secrets/sh.helm.release.v1.demo.v4"]
    (revision,) = await world.revisions()
    assert revision.labels[CHECKSUM] == checksum((await world.records.read(revision)).manifest)
    assert (await world.records.read(revision)).manifest == theirs["manifest"]


@pytest.mark.parametrize("manifest", [yaml.safe_dump(A | {"data": {"x": 1}}), yaml.safe_dump_all([A, B])])
async def test_different_release_is_upgraded(releases: Releases, world: World, manifest: str) -> None:
    theirs = new_record(wanted("", A), 4, RevisionStatus.DEPLOYED).document | {"manifest": manifest}
    await world.foreign(ReleaseRecord(theirs), **{CHECKSUM: "c"})
    assert (await releases.reconcile(wanted("d1", A))).head.revision == 5


async def test_a_changed_helm_hook_alone_makes_a_revision(releases: Releases, world: World) -> None:
    await releases.reconcile(wanted("d1", A, hooks=(hook("h", "pre-upgrade", x="1"),)))
    await releases.reconcile(wanted("d2", A, hooks=(hook("h", "pre-upgrade", x="2"),)))
    assert await world.history() == ["1 superseded", "2 deployed"]
    assert (await world.maps())["h"] == {"x": "2"}


async def test_when_hooks_ran_is_on_record(releases: Releases, world: World) -> None:
    await releases.reconcile(wanted("d1", A, hooks=(hook("h", "post-install"), hook("i", "post-delete"))))
    (revision,) = await world.revisions()
    first, second = (await world.records.read(revision)).document["hooks"]
    assert first["last_run"]["phase"] == "Succeeded"
    assert first["last_run"]["started_at"] <= first["last_run"]["completed_at"]
    assert second["last_run"] == {"phase": ""}


async def test_rollback_pins_until_the_desired_release_changes(client: Client, world: World) -> None:
    releases = started(client)
    await releases.reconcile(wanted("d1", A))
    await releases.reconcile(wanted("d2", B))
    head = (await releases.rollback("demo", "default", None, "d2")).head
    assert head == Head("demo", "default", 3, "deployed", "d2", owned=True, note="pinned")
    assert await world.maps() == {"a": {"x": "1"}}
    assert await world.described(3) == "Rollback to 1"
    assert (await started(client).reconcile(wanted("d2", B))).head == head
    await started(client).reconcile(wanted("d3", B))
    assert sorted(await world.maps()) == ["b"]


@pytest.mark.parametrize("number", [7, None])
async def test_rollback_to_a_missing_revision_lists_the_existing_ones(releases: Releases, number: int | None) -> None:
    await releases.reconcile(wanted("d1", A))
    with pytest.raises(ReleaseFailed, match=r"release demo has no .*; it has: 1 \(deployed\)"):
        await releases.rollback("demo", "default", number, "d1")


async def test_uninstall_deletes_all_objects_and_records(releases: Releases, world: World) -> None:
    await releases.reconcile(wanted("d1", A, B, hooks=(hook("last", "post-delete"),)))
    await releases.reconcile(wanted("d2", A, hooks=(hook("last", "post-delete"),)))
    world.writes()
    assert await releases.removal.uninstall("demo", "default")
    first, second = (f"secrets/sh.helm.release.v1.demo.v{number}" for number in (1, 2))
    writes = ["DELETE configmaps/last", "PATCH configmaps/last"]
    expected = [f"PUT {second}", "DELETE configmaps/a", *writes, f"DELETE {first}", f"DELETE {second}"]
    assert [line for line in world.writes() if not line.endswith("configmaps/b")] == expected
    assert await world.history() == []
    assert sorted(await world.maps()) == ["last"]
    assert not await releases.removal.uninstall("demo", "default")


async def test_uninstall_without_hooks_deletes_only_what_is_marked(releases: Releases, world: World) -> None:
    hooks = hook("first", "pre-delete"), hook("last", "post-delete")
    await releases.reconcile(wanted("d1", A, hooks=hooks))
    assert await releases.removal.uninstall("demo", "default", hooks=False)
    assert (await world.maps(), await world.history()) == ({}, [])


async def test_unmanaged_is_recorded_once_and_left_alone_then(releases: Releases, world: World) -> None:
    await releases.reconcile(wanted("d1", A))
    await releases.reconcile(wanted("d2", configmap("a", x="2"), unmanaged=True))
    world.writes()
    assert (await releases.reconcile(wanted("d3", configmap("a", x="3"), unmanaged=True))).head.unmanaged
    assert not world.writes()
    await releases.reconcile(wanted("d3", configmap("a", x="3")))
    assert await world.maps() == {"a": {"x": "3"}}


async def test_missing_object_is_repaired_without_a_revision(releases: Releases, world: World) -> None:
    await releases.reconcile(wanted("d1", A, B))
    await world.client.send(ApiCall("DELETE", f"{MAPS}/a"))
    finding = ObjectDrift("demo", "default", "v1", "ConfigMap", "a")
    assert await releases.repair("demo", "default", [finding], ReleaseOptions()) == 1
    assert sorted(await world.maps()) == ["a", "b"]
    assert await world.history() == ["1 deployed"]


async def test_a_release_can_be_read_while_it_is_changed(releases: Releases, world: World) -> None:
    head = (await releases.reconcile(wanted("d1", A))).head
    world.writes()
    line = "POST /api/v1/namespaces/default/configmaps"
    held_up = world.sandbox.faults.add(Fault("stall", line))
    changing = asyncio.ensure_future(releases.reconcile(wanted("d2", B)))
    await until(lambda: any(line in request for request in world.sandbox.faults.requests))
    assert (await releases.read_manifest(head), changing.done()) == ((A,), False)
    world.sandbox.faults.remove(held_up)
    await changing
    assert await releases.read_head("demo", "default") == (await releases.list_heads("default"))["demo"]


async def test_chart_is_read_from_the_latest_record(releases: Releases) -> None:
    head = (await releases.reconcile(wanted("d1", A))).head
    assert (await releases.read_chart(head))["name"] == "demo"
    assert await releases.read_chart(replace(head, name="unknown")) == {}


async def test_the_manifest_is_that_of_the_deployed_revision(releases: Releases) -> None:
    settled = await releases.reconcile(wanted("d1", A, B))
    assert await releases.read_manifest(settled.head) == (A, B)
