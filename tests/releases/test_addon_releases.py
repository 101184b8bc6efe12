"""Releases of addons on the sandbox: marks, dry runs, ignored objects, kinds that stay, and their records.

Level: sandbox."""

from dataclasses import replace
from typing import Any

import pytest

from hookrunner.errors import NotFound, ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.releases import ObjectDrift
from hookrunner.releases.records.record import ADDON, CHECKSUM, DIGEST, VERSION, RevisionStatus, new_record
from hookrunner.releases.releases import Releases
from tests.fakes.objects import definition
from tests.releases.wants import ADDON_OPTIONS as OPTIONS
from tests.releases.wants import ADDON_OWNER as OWNER
from tests.releases.wants import addon, configmap
from tests.releases.world import MAPS, World, ignore, started

A, B = configmap("a", x="1"), configmap("b", x="1")
BAD = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bad"}, "data": {"not a key": "x"}}
DEFINITION = definition("example.com", "Test", "v1")


async def test_objects_have_marks_that_no_manifest_has(releases: Releases, world: World) -> None:
    head = (await releases.reconcile(addon("d1", A))).head
    metadata = (await world.client.get(f"{MAPS}/a"))["metadata"]
    assert metadata["labels"]["hookrunner.io/addon"] == "demo"
    assert [(entry["uid"], entry["controller"]) for entry in metadata["ownerReferences"]] == [(OWNER.uid, True)]
    assert await releases.read_manifest(head) == (A,)


async def test_owner_created_again_takes_the_place_of_the_earlier_one(client: Client, world: World) -> None:
    """No revision comes of it; but what is written then belongs to the new owner alone."""
    await started(client).reconcile(addon("d1", A))
    marks = replace(OPTIONS.marks, owner=replace(OWNER, uid="22222222-0000-4000-8000-000000000002"))
    assert (await started(client).reconcile(addon("d1", A, marks=marks))).changed == 0
    await started(client).reconcile(addon("d2", configmap("a", x="2"), marks=marks))
    metadata = (await client.get(f"{MAPS}/a"))["metadata"]
    assert [entry["uid"][0] for entry in metadata["ownerReferences"]] == ["2"]
    assert await world.maps() == {"a": {"x": "2"}}


async def test_object_of_another_controller_is_refused(releases: Releases, world: World) -> None:
    other = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "3", "controller": True}
    body = configmap("a") | {"metadata": {"name": "a", "ownerReferences": [other]}}
    await world.client.send(ApiCall("POST", MAPS, body=body))
    world.writes()
    with pytest.raises(ReleaseFailed, match="ConfigMap/a: it is controlled by ReplicaSet web"):
        await releases.reconcile(addon("d1", A, adopt=True))
    assert await world.history() == []


async def test_dry_run_refuses_before_anything_is_written(releases: Releases, world: World) -> None:
    await releases.reconcile(addon("d1", A))
    with pytest.raises(ReleaseFailed, match=r"(?s)applied, in a dry run.*ConfigMap/bad") as refused:
        await releases.reconcile(addon("d2", configmap("a", x="2"), B, BAD, rollback_on_failure=True))
    assert refused.value.invalid == ("default/ConfigMap/bad",)
    assert await world.maps() == {"a": {"x": "1"}}
    assert await world.history() == ["1 deployed"]


async def test_first_change_of_an_object_is_tried_out_by_one_request(releases: Releases, world: World) -> None:
    """The fields of its creation are no reason to ask twice, as long as they are the only ones."""
    await releases.reconcile(addon("d1", A))
    world.sandbox.faults.requests.clear()
    await releases.reconcile(addon("d2", configmap("a", x="2")))
    tried = [line for line in world.sandbox.faults.requests if line.startswith("PATCH") and "dryRun=All" in line]
    assert (len(tried), await world.maps()) == (1, {"a": {"x": "2"}})


async def test_refused_first_install_leaves_no_record(releases: Releases, world: World) -> None:
    with pytest.raises(ReleaseFailed):
        await releases.reconcile(addon("d1", A, BAD))
    assert (await world.history(), await world.maps()) == ([], {})


async def test_object_of_another_client_is_refused_in_the_dry_run(releases: Releases, world: World) -> None:
    await world.client.send(ApiCall("POST", MAPS, body=A))
    way = r"it exists already and belongs to no release: .*`spec.adopt: true` of the instance"
    with pytest.raises(ReleaseFailed, match=way) as refused:
        await releases.reconcile(addon("d1", A))
    assert (refused.value.invalid, await world.history()) == ((), [])


async def test_field_that_the_server_has_filled_in_may_be_set_later(releases: Releases, world: World) -> None:
    """In the dry run it still is a field of the creation, which no manifest had."""
    service: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a"},
        "spec": {"ports": [{"port": 80}]},
    }
    await releases.reconcile(addon("d1", service))
    sticky = service | {"spec": {**service["spec"], "sessionAffinity": "ClientIP"}}
    assert (await releases.reconcile(addon("d2", sticky))).changed == 1
    assert (await world.client.get("/api/v1/namespaces/default/services/a"))["spec"]["sessionAffinity"] == "ClientIP"


async def test_interrupted_install_with_its_own_namespace_goes_on(releases: Releases, world: World) -> None:
    """The record of the first attempt names a namespace that does not exist."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ours"}}
    inside = configmap("a") | {"metadata": {"name": "a", "namespace": "ours"}}
    desired = addon("d1", space, inside)
    await world.foreign(new_record(desired, 1, RevisionStatus.PENDING_INSTALL), **{DIGEST: "d1.v1", ADDON: "demo"})
    assert (await releases.reconcile(desired)).changed == 2


async def test_ignored_object_is_neither_written_nor_pruned(releases: Releases, world: World) -> None:
    await releases.reconcile(addon("d1", A, B))
    await ignore(world.client, "a")
    await ignore(world.client, "b")
    world.writes()
    await releases.reconcile(addon("d2", configmap("a", x="2")))
    assert (
        await releases.repair(
            "demo", "default", [ObjectDrift("demo", "default", "v1", "ConfigMap", "a", ("/data",))], OPTIONS
        )
        == 0
    )
    assert await world.maps() == {"a": {"x": "1"}, "b": {"x": "1"}}
    await ignore(world.client, "a", None)
    await releases.reconcile(addon("d3", configmap("a", x="3")))
    assert (await world.maps())["a"] == {"x": "3"}


async def test_kinds_that_stay_are_not_pruned(releases: Releases, world: World) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ours"}}
    await releases.reconcile(addon("d1", A, space, DEFINITION))
    await releases.reconcile(addon("d2", B))
    assert sorted(await world.maps()) == ["b"]
    assert (await world.client.get("/api/v1/namespaces/ours"))["metadata"]["annotations"]["hookrunner.io/created"]
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert "deletionTimestamp" not in (await world.client.get(f"{definitions}/tests.example.com"))["metadata"]


def job(image: str) -> Any:
    pod = {"containers": [{"name": "c", "image": image}], "restartPolicy": "Never"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"template": {"metadata": {}, "spec": pod}},
    }


async def test_changed_job_is_created_again(releases: Releases, world: World) -> None:
    path = "/apis/batch/v1/namespaces/default/jobs/j"
    await releases.reconcile(addon("d1", job("one")))
    first = (await world.client.get(path))["metadata"]["uid"]
    await releases.reconcile(addon("d2", job("two")))
    live = await world.client.get(path)
    assert live["spec"]["template"]["spec"]["containers"][0]["image"] == "two"
    assert live["metadata"]["uid"] != first
    with pytest.raises(ReleaseFailed, match=r"cannot change after creation"):
        await releases.reconcile(addon("d3", job("three"), recreate_jobs=False))


async def test_records_say_addon_and_version(client: Client, world: World) -> None:
    await started(client).reconcile(addon("d1", A, version="1.0.0+k3s_1"))
    await started(client).reconcile(addon("d2", B, version="1.1.0"))
    first, second = await world.revisions()
    assert (first.head.addon, first.head.version, first.head.owned) == ("demo", "1.0.0+k3s_1", True)
    assert (second.labels[ADDON], second.labels[VERSION], CHECKSUM in second.labels) == ("demo", "1.1.0", False)
    head = (await started(client).rollback("demo", "default", 1, "d2", OPTIONS)).head
    assert (head.note, head.addon, head.version) == ("pinned", "demo", "1.0.0+k3s_1")


async def test_names_of_releases_cost_no_request(client: Client, world: World) -> None:
    releases = started(client)
    await releases.reconcile(addon("d1", A))
    world.sandbox.faults.requests.clear()
    assert {*await releases.read_heads("default")} == {"demo"}
    assert not world.sandbox.faults.requests
    await releases.removal.tear_down("demo", "default", OPTIONS)
    assert {*await releases.read_heads("default")} == set()


async def test_version_with_the_same_objects_is_noted(client: Client, world: World) -> None:
    """Or each run would compare them again."""
    want = addon("d1", A)
    await started(client).reconcile(want)
    await started(client).reconcile(replace(want, digest="d2", version="1.0.1"))
    (revision,) = await world.revisions()
    assert (revision.head.digest, revision.head.version) == ("d2", "1.0.1")


async def test_failed_version_is_rolled_back_and_stands_for_its_input(client: Client, world: World) -> None:
    await started(client).reconcile(addon("d1", A))
    failed = addon("d2", B, version="2.0.0")
    await started(client).reconcile(failed)
    head = (await started(client).restore_healthy("demo", "default", 1, "d2", OPTIONS)).head
    assert (head.note, head.digest, head.version) == ("rolled-back", "d2", "1.0.0")
    world.writes()
    assert (await started(client).reconcile(failed)).head == head
    assert (world.writes(), await world.maps()) == ([], {"a": {"x": "1"}})


async def test_last_healthy_record_is_kept(client: Client, world: World) -> None:
    releases = started(client, keep=2)
    for number in range(1, 6):
        await releases.reconcile(addon(f"d{number}", configmap("a", x=str(number)), kept_revision=2))
    assert await world.history() == ["2 superseded", "5 deployed"]
    with pytest.raises(NotFound):
        await world.client.get("/api/v1/namespaces/default/secrets/sh.helm.release.v1.demo.v4")
