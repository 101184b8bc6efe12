"""Deletions of instances that do not go by the book: what is left is what the user wants to keep, and a deletion that
cannot go on says why.

Level: sandbox."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from hookrunner.kube.client import ApiCall
from kubesandbox.faults import Fault
from tests.instances.lives.places import GROUP, OLD
from tests.instances.lives.site import LiveSite, Started
from tests.releases.world import exists

X = f"/apis/{GROUP}/namespaces/n1/things/x"
MAPS = "/api/v1/namespaces/n1/configmaps"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.addons.x-k8s.io"
THING = {"apiVersion": GROUP, "kind": "Thing", "metadata": {"name": "x"}}
CURRENT = {"n1": "Current"}


async def install(site: LiveSite) -> None:
    """An instance in the place n1."""
    await site.places.create(["n1"])
    await site.until(site.places.phases, CURRENT)


@pytest.fixture
async def process(site: LiveSite) -> AsyncIterator[Started]:
    """With that instance."""
    async with site.started() as process:
        await install(site)
        yield process


async def gone(site: LiveSite, process: Started) -> None:
    """The instance, its records and its series of metrics."""
    await site.until(site.places.phases, {})
    await site.until(process.series, [])
    assert await site.places.records() == []


async def marks(site: LiveSite) -> list[str]:
    """Our words in the metadata of the ConfigMaps that stay."""
    items = (await site.client.get(MAPS))["items"]
    texts = [str(item["metadata"] | {"managedFields": None}) for item in items]
    return [word for word in ("hookrunner.io", "meta.helm.sh", "ownerReferences") if word in str(texts)]


async def has_event(site: LiveSite, reason: str, text: str) -> bool:
    return any(text in message for message in await site.places.messages("n1", reason))


@pytest.mark.slow
async def test_deletion_with_the_orphan_policy_leaves_the_objects(site: LiveSite, process: Started) -> None:
    await site.places.delete(["n1"], "Orphan")
    await gone(site, process)
    await site.until(lambda: has_event(site, "Kept", "Orphan"), True)
    assert (await site.places.maps())["n1"] == OLD
    assert await marks(site) == []


@pytest.mark.slow
async def test_deletion_with_the_orphan_policy_while_nothing_runs_leaves_the_objects(site: LiveSite) -> None:
    """The garbage collector's finalizer is gone by then."""
    async with site.started():
        await install(site)
    await site.places.delete(["n1"], "Orphan")
    await site.until(lambda: read_finalizers(site), ["hookrunner.io/uninstall"])
    async with site.started() as process:
        await gone(site, process)
    assert (await site.places.maps())["n1"] == OLD
    assert await marks(site) == []


async def read_finalizers(site: LiveSite) -> Any:
    return (await site.client.get(X))["metadata"].get("finalizers")


@pytest.mark.slow
async def test_deletion_of_an_unmanaged_instance_leaves_the_objects(site: LiveSite, process: Started) -> None:
    await site.places.patch(X, {"metadata": {"annotations": {"hookrunner.io/unmanaged": "true"}}})
    await site.until(process.series, [])
    await site.places.delete(["n1"])
    await gone(site, process)
    assert (await site.places.maps())["n1"] == OLD
    assert await marks(site) == []


@pytest.mark.slow
async def test_what_blocks_a_deletion_is_named_until_it_is_over(site: LiveSite, process: Started) -> None:
    """One child waits for a finalizer, there is no right to delete another. It takes as long as the first attempt is
    patient, and until the next one."""
    await site.places.patch(f"{MAPS}/a", {"metadata": {"finalizers": ["example.com/wait"]}})
    forbidden = site.sandbox.faults.add(Fault("answer", f"DELETE {MAPS}/b", status=403))
    await site.places.delete(["n1"])
    for text in ("n1/ConfigMap/a: deleted, but it still exists", "example.com/wait", "n1/ConfigMap/b: "):
        await site.until(lambda text=text: errors(site, text), True)  # type: ignore[misc]
        await site.until(lambda text=text: has_event(site, "DeleteFailed", text), True)  # type: ignore[misc]
    await site.places.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}})
    site.sandbox.faults.remove(forbidden)
    await gone(site, process)
    assert await site.places.maps() == {}


@pytest.mark.slow
@pytest.mark.parametrize("finalizers", [["hookrunner.io/uninstall"], None], ids=["foreground", "without finalizer"])
async def test_nothing_is_left_however_the_instance_goes(
    site: LiveSite, process: Started, finalizers: list[str] | None
) -> None:
    """The garbage collector deletes some of the objects; or the instance is gone before hookrunner hears of it."""
    await site.places.patch(X, {"metadata": {"finalizers": finalizers}})
    await site.places.delete(["n1"], "Foreground" if finalizers else "Background")
    await gone(site, process)
    await site.until(site.places.maps, {})
    await site.until(lambda: exists(site.client, "/api/v1/namespaces/own-n1"), False)


@pytest.mark.slow
async def test_user_may_change_his_mind_while_a_deletion_is_blocked(site: LiveSite, process: Started) -> None:
    """And it is not the next attempt by time that notices."""
    site.sandbox.faults.add(Fault("answer", f"DELETE {MAPS}/b", status=403))
    await site.places.delete(["n1"])
    await site.until(lambda: errors(site, "n1/ConfigMap/b: "), True)
    await site.places.change(["n1"], {"deletionPolicy": "Orphan"})
    await gone(site, process)
    assert (await site.places.maps())["n1"] == {"b": "1"}
    assert await marks(site) == []


@pytest.mark.slow
async def test_finalizer_that_cannot_be_removed_is_named(site: LiveSite, process: Started) -> None:
    """With everything gone that the instance has installed."""
    process.wire.forbidden = f"PATCH {X}"
    await site.places.delete(["n1"])
    await site.until(lambda: errors(site, "is forbidden"), True)
    await site.until(lambda: has_event(site, "DeleteFailed", "is forbidden"), True)
    assert await site.places.maps() == {}
    process.wire.forbidden = ""
    await gone(site, process)


async def errors(site: LiveSite, text: str) -> bool:
    status = (await site.places.statuses()).get("n1", {})
    return status.get("phase") == "Terminating" and text in str(status["errors"])


@pytest.mark.slow
async def test_instance_that_is_deleted_in_an_upgrade_and_created_again_is_installed_again(
    site: LiveSite, process: Started
) -> None:
    for _ in range(3):
        await site.places.change(["n1"], {"version": "2.0.0"})
        await site.places.delete(["n1"])
        await site.until(lambda: exists(site.client, X), False)
        await site.client.send(ApiCall("POST", X.removesuffix("/x"), body=THING))
    await site.until(site.places.phases, CURRENT)
    assert (await site.places.maps())["n1"] == OLD
    owners = [item["metadata"]["ownerReferences"][0]["uid"] for item in (await site.client.get(MAPS))["items"]]
    assert set(owners) == {(await site.client.get(X))["metadata"]["uid"]}
    await site.until(lambda: has_event(site, "Deleting", ""), True)
    await site.places.delete(["n1"])
    await gone(site, process)
    assert await site.places.maps() == {}


@pytest.mark.slow
async def test_namespace_takes_the_instance_with_it(site: LiveSite, process: Started) -> None:
    """What it has installed elsewhere goes too."""
    await site.client.send(ApiCall("DELETE", "/api/v1/namespaces/n1"))
    await gone(site, process)
    await site.until(lambda: exists(site.client, "/api/v1/namespaces/n1"), False)
    await site.until(lambda: exists(site.client, "/api/v1/namespaces/own-n1"), False)


@pytest.mark.slow
async def test_definition_takes_all_instances_with_it_and_comes_back(site: LiveSite, process: Started) -> None:
    before = (await site.client.get(DEFINITION))["metadata"]["uid"]
    await site.client.send(ApiCall("DELETE", DEFINITION))
    await site.until(process.series, [])
    await site.until(lambda: is_another(site, before), True)
    assert (await site.places.maps(), await site.places.records()) == ({}, [])
    await site.client.send(ApiCall("POST", X.removesuffix("/x"), body=THING))
    await site.until(site.places.phases, CURRENT)


async def is_another(site: LiveSite, uid: str) -> bool:
    """Is there another definition than this one, and is it served?"""
    if not (await exists(site.client, DEFINITION) and await exists(site.client, X.removesuffix("/x"))):
        return False
    return bool((await site.client.get(DEFINITION))["metadata"]["uid"] != uid)
