"""What an addon's release has adopted is marked, and stays when the release is deleted, on the sandbox.

Level: sandbox."""

from dataclasses import replace
from typing import Any

import pytest

from hookrunner.errors import NotFound, ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.releases import KeptObject, ObjectDrift
from hookrunner.releases.objects.object_marks import ADOPTED
from hookrunner.releases.releases import Releases
from tests.releases.test_addon_releases import job
from tests.releases.wants import ADDON_OPTIONS as OPTIONS
from tests.releases.wants import ADDON_OWNER as OWNER
from tests.releases.wants import addon, configmap, wanted
from tests.releases.watching import MERGE
from tests.releases.world import MAPS, World, started

A, B = configmap("a", x="1"), configmap("b", x="1")
STAYS = KeptObject(
    "default/ConfigMap/a", "it was taken over, and spec.deletionPolicy is not set to Delete", adopted=True
)
DELETES = replace(OPTIONS, delete_adopted=True)


async def prepare(client: Client, *objects: Any) -> Releases:
    """A release that has adopted the ConfigMap `a` of another client, and created `b`."""
    await client.send(ApiCall("POST", MAPS, {"fieldManager": "user"}, configmap("a", mine="1")))
    releases = started(client)
    await releases.reconcile(addon("d1", A, B, *objects, adopt=True))
    return releases


async def metadata(client: Client, name: str = "a") -> Any:
    return (await client.get(f"{MAPS}/{name}"))["metadata"]


def is_marked(found: Any) -> bool:
    return bool((found.get("annotations") or {}).get(ADOPTED) == "default/demo")


async def test_adopted_object_is_marked_and_has_no_owner(client: Client, world: World) -> None:
    """The finalizer of an instance can be removed by its author; then the garbage collector deletes what it owns."""
    await prepare(client)
    theirs, ours = await metadata(client), await metadata(client, "b")
    assert (is_marked(theirs), "ownerReferences" in theirs) == (True, False)
    assert (is_marked(ours), "ownerReferences" in ours) == (False, True)
    assert theirs["labels"]["hookrunner.io/addon"] == "demo"
    assert (await world.maps())["a"] == {"mine": "1", "x": "1"}


async def test_mark_survives_upgrades_restarts_and_repairs(client: Client, world: World) -> None:
    await prepare(client)
    releases = started(client)
    await releases.reconcile(addon("d2", configmap("a", x="2"), B))
    await client.send(ApiCall("PATCH", f"{MAPS}/a", {"fieldManager": "user"}, {"data": {"x": "drift"}}, MERGE))
    drift = ObjectDrift("demo", "default", "v1", "ConfigMap", "a", ("/data/x",))
    assert await releases.repair("demo", "default", [drift], OPTIONS) == 1
    await started(client).reconcile(addon("d3", configmap("a", x="3"), B))
    found = await metadata(client)
    assert (is_marked(found), "ownerReferences" in found, (await world.maps())["a"]["x"]) == (True, False, "3")


async def test_mark_survives_the_recreation_of_a_job(client: Client) -> None:
    path = "/apis/batch/v1/namespaces/default/jobs"
    await client.send(ApiCall("POST", path, {}, job("theirs")))
    releases = started(client)
    await releases.reconcile(addon("d1", job("one"), adopt=True))
    await releases.reconcile(addon("d2", job("two")))
    await releases.reconcile(addon("d3", job("two") | {"metadata": {"name": "j", "labels": {"a": "b"}}}))
    live = await client.get(f"{path}/j")
    assert live["spec"]["template"]["spec"]["containers"][0]["image"] == "two"
    assert (is_marked(live["metadata"]), "ownerReferences" in live["metadata"]) == (True, False)


async def test_adopted_object_stays_when_its_release_is_deleted(client: Client, world: World) -> None:
    """It belongs to no release afterwards. An attempt that is repeated says the same."""
    await prepare(client)
    for _ in range(2):
        assert await started(client).removal.tear_down("demo", "default", OPTIONS) == (STAYS,)
    await started(client).removal.forget("demo", "default")
    assert (await world.maps(), await world.history()) == ({"a": {"mine": "1", "x": "1"}}, [])
    found = await metadata(client)
    assert (found.get("labels"), found["annotations"]) == (None, {ADOPTED: "default/demo"})
    with pytest.raises(ReleaseFailed, match="ConfigMap/a: it exists already and belongs to no release"):
        await started(client).reconcile(addon("d1", A))


async def test_adopted_object_is_deleted_if_the_instance_says_so(client: Client, world: World) -> None:
    await prepare(client)
    assert await started(client).removal.tear_down("demo", "default", DELETES) == ()
    assert await world.maps() == {}


async def test_adopted_namespace_stays_in_each_case(client: Client) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "theirs"}}
    await client.send(ApiCall("POST", "/api/v1/namespaces", {}, space))
    await started(client).reconcile(addon("d1", space, adopt=True))
    kept = KeptObject("default/Namespace/theirs", "it existed before this release", adopted=True)
    for options in (OPTIONS, DELETES, DELETES):
        assert await started(client).removal.tear_down("demo", "default", options) == (kept,)
    found = (await client.get("/api/v1/namespaces/theirs"))["metadata"]
    assert "meta.helm.sh/release-name" not in found["annotations"]


async def test_adopted_object_that_leaves_the_manifest_stays_and_can_come_back(client: Client, world: World) -> None:
    """A rollback needs no permission for it: it belongs to its release still."""
    releases = await prepare(client)
    await releases.reconcile(addon("d2", B))
    assert [releases.take_notes("demo", "default").kept for _ in range(2)] == [[STAYS], []]
    assert sorted(await world.maps()) == ["a", "b"]
    assert "hookrunner.io/addon" not in (await metadata(client)).get("labels", {})
    await releases.rollback("demo", "default", 1, "d2", OPTIONS)
    assert (await metadata(client))["labels"]["hookrunner.io/addon"] == "demo"
    await releases.reconcile(addon("d3", B, delete_adopted=True))
    assert sorted(await world.maps()) == ["b"]


async def test_annotation_of_a_package_cannot_adopt_where_the_addon_never_does(client: Client, world: World) -> None:
    await client.send(ApiCall("POST", MAPS, {}, configmap("a", mine="1")))
    asked = A | {"metadata": {"name": "a", "annotations": {"hookrunner.io/adopt": "true"}}}
    with pytest.raises(ReleaseFailed, match=r"belongs to no release: .*`adopt: never`, so no instance can adopt it"):
        await started(client).reconcile(addon("d1", asked, adopt=True, never_adopt=True))
    assert await world.maps() == {"a": {"mine": "1"}}


@pytest.mark.parametrize(("mark", "stays"), [(None, False), ("old/demo", True)])
async def test_object_of_the_same_instance_is_not_foreign_after_a_move(
    mark: str | None, stays: bool, client: Client
) -> None:
    """hookrunner runs in another namespace now; what it had adopted there stays adopted."""
    marks = {"meta.helm.sh/release-name": "demo", "meta.helm.sh/release-namespace": "old"}
    annotations = marks | ({ADOPTED: mark} if mark else {})
    await client.send(ApiCall("POST", MAPS, {}, A | {"metadata": {"name": "a", "annotations": annotations}}))
    await started(client).reconcile(addon("d1", A, adopt_orphans=True))
    assert is_marked(await metadata(client)) == stays


async def test_object_without_an_owner_says_nothing_about_a_deletion(client: Client) -> None:
    """Else an instance whose objects in its own namespace are all adopted would count as deleted with Orphan."""
    await client.send(ApiCall("POST", MAPS, {}, configmap("a")))
    releases = started(client)
    head = (await releases.reconcile(addon("d1", A, adopt=True))).head
    objects = await releases.read_manifest(head)
    assert not await releases.removal.has_lost_owner(head, objects, OPTIONS)


async def test_abandoned_object_keeps_no_mark(client: Client) -> None:
    await prepare(client)
    assert await started(client).removal.abandon("demo", "default", OPTIONS) == 2
    assert "annotations" not in await metadata(client)


async def test_owner_that_an_adopted_object_has_already_stays(client: Client) -> None:
    """Only the reference to the instance is left out."""
    other = {"apiVersion": "example.com/v1", "kind": "Other", "name": "o", "uid": OWNER.uid[::-1]}
    body = configmap("a") | {"metadata": {"name": "a", "ownerReferences": [other]}}
    await client.send(ApiCall("POST", MAPS, {"fieldManager": "user"}, body))
    await started(client).reconcile(addon("d1", A, adopt=True))
    assert [entry["kind"] for entry in (await metadata(client))["ownerReferences"]] == ["Other"]


async def test_module_deletes_what_it_has_adopted_as_before(client: Client) -> None:
    await client.send(ApiCall("POST", MAPS, {}, configmap("a")))
    await started(client).reconcile(wanted("d1", A, adopt=True))
    assert ADOPTED not in (await metadata(client))["annotations"]
    assert await started(client).removal.uninstall("demo", "default")
    with pytest.raises(NotFound):
        await metadata(client)
