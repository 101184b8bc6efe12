"""A release takes the place of another one that has objects of the same names: it takes them over, the other one
leaves them alone and gets them back if it stays, and its removal deletes none of them.

Level: sandbox."""

from dataclasses import replace
from typing import Any

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.releases import DesiredRelease, ObjectDrift, ObjectMarks, OwnerReference, Predecessor
from hookrunner.releases.objects.object_marks import ADOPTED, TAKEN_FROM
from hookrunner.releases.releases import Releases
from kubesandbox.faults import Fault
from tests.fakes.objects import definition
from tests.releases.wants import ADDON_OPTIONS, addon, configmap
from tests.releases.world import MAPS, World, started

DEFINITION = definition("example.com", "Test", "v1")
TESTS = "/apis/example.com/v1/namespaces/default/tests"
UIDS = {"old": "1", "new": "2"}


def marks(name: str) -> ObjectMarks:
    uid = f"{UIDS[name] * 8}-0000-4000-8000-000000000001"
    owner = OwnerReference("addons.example.com/v1", name.capitalize(), "x", uid, "default")
    return ObjectMarks({"hookrunner.io/addon": name}, owner)


def wanted(name: str, digest: str, *objects: Any, **options: Any) -> DesiredRelease:
    """The release `old`, or `new`, of an addon."""
    desired = addon(digest, *objects, marks=marks(name), **options)
    return replace(desired, name=name, addon=name)


OLD = wanted("old", "o1", configmap("shared", x="old"), configmap("a", x="old"), DEFINITION)
BESIDE = Predecessor("old", 1)
NEW_MAPS = configmap("shared", x="new", y="new"), configmap("b", x="new")
NEW = wanted("new", "n1", *NEW_MAPS, DEFINITION, predecessor=BESIDE)
DRIFT = ObjectDrift("old", "default", "v1", "ConfigMap", "shared", ("/data/x",))


async def begun(client: Client) -> Releases:
    """The old release is there, the new one beside it."""
    releases = started(client)
    await releases.reconcile(OLD)
    users = {"apiVersion": "example.com/v1", "kind": "Test", "metadata": {"name": "u"}}
    await client.send(ApiCall("POST", TESTS, body=users))
    await releases.reconcile(NEW)
    return releases


async def tear_down(releases: Releases, name: str, predecessor: Predecessor | None = None) -> list[str]:
    """Remove a release; the objects that stay, with their reasons."""
    options = replace(ADDON_OPTIONS, marks=marks(name), predecessor=predecessor)
    kept = await releases.removal.tear_down(name, "default", options)
    await releases.removal.forget(name, "default")
    return sorted(map(str, kept))


async def metadata(client: Client, name: str = "shared") -> Any:
    return (await client.get(f"{MAPS}/{name}"))["metadata"]


async def test_objects_are_taken_over_only_from_the_predecessor(client: Client, world: World) -> None:
    releases = started(client)
    await releases.reconcile(OLD)
    with pytest.raises(ReleaseFailed, match="it belongs to the instance old of an addon, which exists"):
        await releases.reconcile(wanted("new", "n1", configmap("shared", x="new")))
    await releases.reconcile(NEW)
    found = await metadata(client)
    assert found["annotations"][TAKEN_FROM] == "default/old"
    assert (found["labels"]["hookrunner.io/addon"], "ownerReferences" in found) == ("new", False)
    assert (await world.maps())["shared"] == {"x": "new", "y": "new"}
    heads = await started(client).read_heads("default")
    found = {name: (head.predecessor, head.succession) for name, head in heads.items()}
    assert found == {"old": ("", 0), "new": ("old", 1)}


async def test_the_predecessor_leaves_them_alone(client: Client, world: World) -> None:
    releases = await begun(client)
    world.writes()
    assert await releases.repair("old", "default", [DRIFT], OLD.options) == 0
    assert world.writes() == []
    edited = configmap("shared", x="edited"), configmap("a", x="edited")
    await releases.reconcile(wanted("old", "o2", *edited, DEFINITION))
    assert await world.maps() == {"shared": {"x": "new", "y": "new"}, "a": {"x": "edited"}, "b": {"x": "new"}}


async def test_its_removal_deletes_nothing_that_was_taken_over(client: Client, world: World) -> None:
    releases = await begun(client)
    assert await tear_down(releases, "old") == [
        "default/ConfigMap/shared: it belongs to release default/new",
        "default/CustomResourceDefinition/tests.example.com: it belongs to release default/new",
    ]
    assert await world.maps() == {"shared": {"x": "new", "y": "new"}, "b": {"x": "new"}}
    assert [item["metadata"]["name"] for item in (await client.get(TESTS))["items"]] == ["u"]
    world.writes()
    assert (await releases.reconcile(replace(NEW, options=replace(NEW.options, predecessor=None)))).changed == 0
    assert world.writes() == []


async def test_what_was_taken_over_goes_back_if_the_predecessor_stays(client: Client, world: World) -> None:
    """The ServiceAccount of a running Pod, say, is never deleted and created again."""
    releases = await begun(client)
    uid = (await metadata(client))["uid"]
    kept = await tear_down(releases, "new", BESIDE)
    assert [text.partition(": ")[2] for text in kept] == ["it goes back to release default/old"] * 2
    assert await releases.repair("old", "default", [DRIFT], OLD.options) == 1
    found = await metadata(client)
    assert (found["uid"], TAKEN_FROM in found["annotations"]) == (uid, False)
    assert (found["labels"]["hookrunner.io/addon"], found["ownerReferences"][0]["kind"]) == ("old", "Old")
    assert await world.maps() == {"shared": {"x": "old"}, "a": {"x": "old"}}
    assert [item["metadata"]["name"] for item in (await client.get(TESTS))["items"]] == ["u"]
    kept = await tear_down(releases, "old")
    assert (await world.maps(), [text.partition(": ")[0] for text in kept]) == (
        {},
        ["default/CustomResourceDefinition/tests.example.com"],
    )


async def test_object_that_leaves_the_new_release_goes_back_too(client: Client, world: World) -> None:
    releases = await begun(client)
    await releases.reconcile(wanted("new", "n2", configmap("b", x="new"), predecessor=BESIDE))
    assert await releases.repair("old", "default", [DRIFT], OLD.options) == 1
    assert (await world.maps())["shared"] == {"x": "old"}


async def test_what_was_taken_over_from_a_release_that_is_gone_is_deleted(client: Client, world: World) -> None:
    releases = await begun(client)
    await tear_down(releases, "old")
    await tear_down(releases, "new", BESIDE)
    assert await world.maps() == {}


async def test_without_a_predecessor_they_are_deleted_as_others(client: Client, world: World) -> None:
    """The succession is over: what was taken over is like what was created, and the way back is another succession."""
    releases = await begun(client)
    await tear_down(releases, "old")
    back = wanted("old", "o3", configmap("shared", x="back"), DEFINITION, predecessor=Predecessor("new", 2))
    await releases.reconcile(back)
    assert (await metadata(client))["annotations"][TAKEN_FROM] == "default/new"
    await tear_down(releases, "new", BESIDE)
    assert await world.maps() == {"shared": {"x": "back"}}
    head = await releases.read_head("old", "default")
    assert head
    assert (head.predecessor, head.succession) == ("new", 2)
    await releases.reconcile(wanted("old", "o4", configmap("shared", x="later"), DEFINITION))
    assert (await releases.read_heads("default"))["old"].succession == 2
    await tear_down(releases, "old")
    assert await world.maps() == {}


@pytest.mark.parametrize("first", ["old", "new"])
async def test_nothing_is_left_of_two_that_are_removed_at_the_same_time(
    client: Client, world: World, first: str
) -> None:
    """The first one is interrupted in the middle. What the other one gave back then, it has looked at already."""
    releases = await begun(client)
    own = {"old": "a", "new": "b"}[first]
    held_up = world.sandbox.faults.add(Fault("answer", f"DELETE {MAPS}/{own}", status=403))
    with pytest.raises(ReleaseFailed, match="could not be deleted"):
        await tear_down(releases, first, BESIDE if first == "new" else None)
    if first == "old":
        await tear_down(releases, "new", BESIDE)
        assert [*await world.maps()] == ["a"]
    else:
        with pytest.raises(ReleaseFailed, match="release new is removed first") as waits:
            await tear_down(releases, "old")
        assert waits.value.brief
    world.sandbox.faults.remove(held_up)
    for name in ("new", "old"):
        await tear_down(releases, name, BESIDE if name == "new" else None)
    assert await world.maps() == {}


async def test_adopted_object_stays_adopted_on_the_way_and_back(client: Client, world: World) -> None:
    await client.send(ApiCall("POST", MAPS, {"fieldManager": "user"}, configmap("shared", mine="1")))
    releases = started(client)
    await releases.reconcile(wanted("old", "o1", configmap("shared", x="old"), adopt=True))
    await releases.reconcile(NEW)
    assert (await metadata(client))["annotations"][ADOPTED] == "default/new"
    await tear_down(releases, "new", BESIDE)
    assert (await metadata(client))["annotations"][ADOPTED] == "default/old"
    await releases.repair("old", "default", [DRIFT], OLD.options)
    assert await tear_down(releases, "old") != []
    assert (await world.maps())["shared"]["mine"] == "1"
