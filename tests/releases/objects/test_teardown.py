"""A release of an addon is deleted with all its objects, or left to its users, on the sandbox. Level: sandbox."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.releases import DesiredRelease, KeptObject
from hookrunner.releases.objects.object_marks import IGNORE
from hookrunner.releases.releases import Releases
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.fakes.objects import definition
from tests.fakes.second_writer import OvertakenClient, overtaken_client
from tests.kube.server import ApiServer, without_aggregation
from tests.releases.wants import ADDON_OPTIONS as OPTIONS
from tests.releases.wants import addon, configmap, hook
from tests.releases.watching import MERGE
from tests.releases.world import MAPS, World, exists, ignore, started

pytestmark = pytest.mark.looptime

A, B = configmap("a", x="1"), configmap("b", x="1")
SPACE: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ours"}}
SPACES = "/api/v1/namespaces"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLAIM: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
ROLE: dict[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "r"},
    "rules": [],
}


def inside(obj: Any, namespace: str = "ours") -> Any:
    return obj | {"metadata": obj["metadata"] | {"namespace": namespace}}


async def tear_down(client: Client, patience: float = 5.0) -> list[str]:
    """As after a restart; what stays, as text. Repeated until that is known, it is the same."""
    kept = await started(client).removal.tear_down("demo", "default", OPTIONS, patience)
    if kept:
        assert await started(client).removal.tear_down("demo", "default", OPTIONS, patience) == kept
        await started(client).removal.forget("demo", "default")
    return [str(each) for each in kept]


async def test_all_objects_and_records_are_deleted_in_reverse_order(releases: Releases, world: World) -> None:
    desired = addon("d1", SPACE, inside(A), ROLE)
    last = replace(desired.rendered, hooks=(hook("last", "post-delete"),))
    await releases.reconcile(replace(desired, rendered=last))
    world.writes()
    assert await releases.removal.tear_down("demo", "default", OPTIONS) == ()
    deleted = [line.rpartition("/")[2] for line in world.writes() if line.startswith("DELETE")]
    assert [name for name in deleted if name in ("a", "r", "ours")][-1] == "ours"
    assert not await exists(world.client, f"{SPACES}/ours")
    assert (await world.history(), sorted(await world.maps())) == ([], ["last"])
    assert await releases.removal.tear_down("demo", "default", OPTIONS) == ()


async def test_blocking_finalizer_is_named_and_the_teardown_continues_later(client: Client, world: World) -> None:
    await started(client).reconcile(addon("d1", A, ROLE))
    await finalize(client, "a", ["example.com/hold"])
    with pytest.raises(ReleaseFailed, match=r"ConfigMap/a: deleted, but .* exists after 0.2 s: .*example.com/hold"):
        await tear_down(client, patience=0.2)
    assert await world.history() == ["1 uninstalling"]
    await finalize(client, "a", [])
    assert await tear_down(client) == []
    assert (await world.history(), await world.maps()) == ([], {})


async def finalize(client: Client, name: str, finalizers: list[str]) -> None:
    body = {"metadata": {"finalizers": finalizers}}
    await client.send(ApiCall("PATCH", f"{MAPS}/{name}", {}, body, MERGE))


async def test_earlier_stage_waits_for_the_later_one(client: Client) -> None:
    """Its controller may have to run the finalizer."""
    widgets = inside(A, "default")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "finalizers": ["example.com/hold"]}}
    pod["spec"] = {"containers": [{"name": "c", "image": "i"}]}
    await started(client).reconcile(addon("d1", widgets, pod))
    with pytest.raises(ReleaseFailed, match="Pod/p"):
        await tear_down(client, patience=0.2)
    assert await exists(client, f"{MAPS}/a")


async def test_objects_that_stay_are_returned_and_lose_their_owner(client: Client, world: World) -> None:
    """Or the garbage collector would delete them with it."""
    keep = configmap("k") | {"metadata": {"name": "k", "annotations": {"helm.sh/resource-policy": "keep"}}}
    await started(client).reconcile(addon("d1", A, B, CLAIM, keep))
    await ignore(client, "b")
    assert sorted(await tear_down(client)) == [
        f"default/ConfigMap/b: its annotation {IGNORE} says so",
        "default/ConfigMap/k: its annotation helm.sh/resource-policy says so",
        "default/PersistentVolumeClaim/data: its data would be deleted with it",
    ]
    for path in (f"{MAPS}/b", f"{MAPS}/k", "/api/v1/namespaces/default/persistentvolumeclaims/data"):
        metadata = (await client.get(path))["metadata"]
        assert not metadata.get("ownerReferences")
        assert "hookrunner.io/addon" not in metadata["labels"]
    assert await world.history() == []


async def test_release_can_be_installed_again_over_what_stayed(client: Client) -> None:
    await started(client).reconcile(addon("d1", A, CLAIM))
    await tear_down(client)
    await started(client).reconcile(addon("d1", A, CLAIM))
    metadata = (await client.get("/api/v1/namespaces/default/persistentvolumeclaims/data"))["metadata"]
    assert (len(metadata["ownerReferences"]), metadata["labels"]["hookrunner.io/addon"]) == (1, "demo")


async def test_pruned_claim_loses_its_owner(client: Client) -> None:
    await started(client).reconcile(addon("d1", A, CLAIM))
    await started(client).reconcile(addon("d2", A))
    metadata = (await client.get("/api/v1/namespaces/default/persistentvolumeclaims/data"))["metadata"]
    assert not metadata.get("ownerReferences")


async def namespace_with(client: Client, *objects: Any, desired: DesiredRelease | None = None) -> list[str]:
    """What stays of a release with its own namespace, in which others have put these objects."""
    await started(client).reconcile(desired or addon("d1", SPACE, inside(A)))
    for obj in objects:
        await client.send(ApiCall("POST", f"{SPACES}/ours/configmaps", body=obj))
    return await tear_down(client)


async def test_namespace_stays_with_what_others_keep_in_it(client: Client) -> None:
    kept = await namespace_with(client, configmap("theirs"), configmap("more"))
    assert kept == ["default/Namespace/ours: it contains ConfigMap/more, ConfigMap/theirs"]
    assert await exists(client, f"{SPACES}/ours/configmaps/theirs")


async def test_dependents_and_objects_of_kubernetes_do_not_keep_a_namespace(client: Client) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "3"}
    dependent = {"metadata": {"name": "d", "ownerReferences": [owner]}}
    assert await namespace_with(client, dependent, configmap("kube-root-ca.crt")) == []
    assert not await exists(client, f"{SPACES}/ours")


async def test_namespace_that_existed_before_stays(client: Client) -> None:
    await client.send(ApiCall("POST", SPACES, body=SPACE))
    kept = await namespace_with(client, desired=addon("d1", SPACE, adopt=True))
    assert kept == ["default/Namespace/ours: it existed before this release"]


async def test_namespace_stays_if_its_contents_are_unknown(client: Client, world: World) -> None:
    await started(client).reconcile(addon("d1", SPACE))
    world.sandbox.faults.add(Fault("answer", "GET /api/v1/namespaces/ours/pods", status=403))
    kept = await tear_down(client)
    assert kept == ["default/Namespace/ours: its contents are unknown, there is no right to list pods"]


async def test_namespace_stays_while_an_aggregated_api_does_not_answer(client: Client, world: World) -> None:
    """It may serve objects of this namespace, which the server would delete with it."""
    await started(client).reconcile(addon("d1", SPACE))
    await client.send(ApiCall("POST", DEFINITIONS, body=definition("away.io", "Lost", "v1")))
    world.sandbox.faults.add(Fault("answer", "GET /apis/away.io/v1", status=503))
    async with (
        without_aggregation(ApiServer(world.sandbox, world.sandbox.url)) as old,
        overtaken_client(old.url) as there,
    ):
        assert await tear_down(there) == [
            "default/Namespace/ours: its contents are unknown, these API groups do not answer: away.io/v1"
        ]
    assert await exists(client, f"{SPACES}/ours")


async def test_object_of_another_release_is_not_deleted(client: Client) -> None:
    await started(client).reconcile(addon("d1", A))
    theirs = {"metadata": {"annotations": {"meta.helm.sh/release-name": "other"}}}
    await client.send(ApiCall("PATCH", f"{MAPS}/a", {}, theirs, MERGE))
    assert await started(client).removal.tear_down("demo", "default", OPTIONS) == (
        KeptObject("default/ConfigMap/a", "it belongs to release default/other"),
    )
    assert (await client.get(f"{MAPS}/a"))["metadata"]["ownerReferences"]


async def test_missing_right_to_delete_is_named(client: Client, world: World) -> None:
    await started(client).reconcile(addon("d1", A))
    refused = world.sandbox.faults.add(Fault("answer", f"DELETE {MAPS}/a", status=403))
    with pytest.raises(ReleaseFailed, match=r"1 of 1 objects could not be deleted:\ndefault/ConfigMap/a: .*Forbidden"):
        await tear_down(client)
    world.sandbox.faults.remove(refused)
    assert await tear_down(client) == []


async def test_abandoned_objects_stay_without_marks_and_records(client: Client, world: World) -> None:
    await started(client).reconcile(addon("d1", A, ROLE, SPACE))
    for _ in range(2):
        assert await started(client).removal.abandon("demo", "default", OPTIONS) == 3
    await started(client).removal.forget("demo", "default")
    metadata = (await client.get(f"{MAPS}/a"))["metadata"]
    assert {"labels", "annotations", "ownerReferences"}.isdisjoint(key for key, value in metadata.items() if value)
    assert (await world.history(), sorted(await world.maps())) == ([], ["a"])
    assert await started(client).removal.abandon("demo", "default", OPTIONS) == 0


async def test_object_that_another_client_writes_all_the_time_is_not_abandoned(
    client: OvertakenClient, sandbox: Sandbox
) -> None:
    await started(client).reconcile(addon("d1", A))
    api, numbers = ApiServer(sandbox, sandbox.url), itertools.count()
    live = api.get(A | {"metadata": {"name": "a", "namespace": "default"}})
    del live["metadata"]["resourceVersion"]
    client.before_write = lambda call: api.put(live | {"data": {"x": str(next(numbers))}})
    with pytest.raises(ReleaseFailed, match="another client keeps writing it"):
        await started(client).removal.abandon("demo", "default", OPTIONS)
