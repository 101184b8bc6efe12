"""Objects of a release in a cluster (the sandbox). Level: sandbox."""

import copy
from collections.abc import Iterable
from typing import Any

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.releases import ReleaseOptions
from hookrunner.releases.manifest_applier import Counts, ManifestApplier
from hookrunner.releases.manifest_objects import ObjectId, ReleaseId, object_id
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.fakes.objects import definition

RELEASE = ReleaseId("r", "default")
OPTIONS = ReleaseOptions()
MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str = "a", data: Any = None, **annotations: str) -> Any:
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "v"} if data is None else data}


def deployment(app: str = "a", **annotations: str) -> Any:
    template = {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "a", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"app": app}}, "template": template}
    metadata = {"name": "d", "annotations": annotations}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def by_id(*objects: Any) -> dict[ObjectId, Any]:
    return {object_id(obj, RELEASE): obj for obj in objects}


def writes(sandbox: Sandbox) -> list[str]:
    return [line for line in sandbox.faults.requests if not line.startswith("GET ")]


async def post(client: Client, name: str = "a", **data: str) -> Any:
    await client.send(
        ApiCall("POST", MAPS, {"fieldManager": "another-client"}, {"metadata": {"name": name}, "data": data})
    )


async def data_of(client: Client, name: str = "a") -> Any:
    return (await client.get(f"{MAPS}/{name}"))["data"]


async def test_new_objects_are_created_with_the_marks_of_the_release(applier: ManifestApplier, client: Client) -> None:
    counts = await applier.apply([config_map("a"), config_map("b")], RELEASE, {}, OPTIONS)
    assert counts == Counts(created=2)
    found = (await client.get(f"{MAPS}/b"))["metadata"]
    assert found["labels"] == {"app.kubernetes.io/managed-by": "Helm"}
    assert found["annotations"]["meta.helm.sh/release-name"] == "r"
    assert found["managedFields"][0]["manager"] == "helm"


async def test_unchanged_objects_cost_no_request(applier: ManifestApplier, sandbox: Sandbox) -> None:
    objects = [config_map("a"), deployment()]
    await applier.apply(objects, RELEASE, {}, OPTIONS)
    sandbox.faults.requests.clear()
    assert await applier.apply(copy.deepcopy(objects), RELEASE, by_id(*objects), OPTIONS) == Counts(unchanged=2)
    assert list(sandbox.faults.requests) == []


@pytest.mark.parametrize("first", [True, False], ids=["created by us", "applied already"])
async def test_only_changed_objects_are_sent_and_dropped_ones_are_deleted(
    applier: ManifestApplier, client: Client, sandbox: Sandbox, first: bool
) -> None:
    old = [config_map("a", {"x": "1", "y": "1"}), config_map("b")]
    await applier.apply(old, RELEASE, {}, OPTIONS)
    if not first:
        await applier.apply(old, RELEASE, by_id(*old), OPTIONS, by_id(old[0]))
    sandbox.faults.requests.clear()
    new = [config_map("a", {"y": "2", "z": "1"}), config_map("b")]
    assert await applier.apply(new, RELEASE, by_id(*old), OPTIONS) == Counts(changed=1, unchanged=1)
    assert await data_of(client) == {"y": "2", "z": "1"}
    assert {line.split("?")[0] for line in sandbox.faults.requests} == {f"GET {MAPS}/a", f"PATCH {MAPS}/a"}
    assert len(writes(sandbox)) == 1 + first


async def test_repair_restores_changed_objects_and_leaves_others_alone(
    applier: ManifestApplier, client: Client
) -> None:
    objects = [config_map("a"), config_map("b")]
    await applier.apply(objects, RELEASE, {}, OPTIONS)
    patch = ApiCall("PATCH", f"{MAPS}/a", {}, {"data": {"k": "theirs", "mine": "x"}}, "application/merge-patch+json")
    await client.send(patch)
    last = by_id(*objects)
    assert await applier.apply(objects, RELEASE, last, OPTIONS, repair=last) == Counts(changed=1, unchanged=1)
    assert await data_of(client) == {"k": "v", "mine": "x"}


async def test_missing_object_is_created_again(applier: ManifestApplier, client: Client) -> None:
    objects = [config_map("a"), config_map("b")]
    await applier.apply(objects, RELEASE, {}, OPTIONS)
    await client.send(ApiCall("DELETE", f"{MAPS}/a"))
    counts = await applier.apply(objects, RELEASE, by_id(*objects), OPTIONS, repair=by_id(objects[0]))
    assert counts == Counts(created=1, unchanged=1)


async def test_object_that_exists_is_adopted_though_its_creation_is_refused(
    applier: ManifestApplier, client: Client, sandbox: Sandbox
) -> None:
    """A real API server says of a Service that exists that its address is allocated already, not that it exists."""
    await post(client, k="theirs")
    sandbox.faults.add(Fault("answer", f"POST {MAPS}", status=422))
    assert await applier.apply([config_map()], RELEASE, {}, ReleaseOptions(adopt=True)) == Counts(changed=1)
    with pytest.raises(ReleaseFailed, match="default/ConfigMap/b"):
        await applier.apply([config_map("b")], RELEASE, {}, ReleaseOptions(adopt=True))


async def test_unowned_object_is_adopted_only_if_allowed(applier: ManifestApplier, client: Client) -> None:
    await post(client, k="theirs", mine="x")
    with pytest.raises(ReleaseFailed, match=r'default/ConfigMap/a: it exists already.*hookrunner.io/adopt: "true"'):
        await applier.apply([config_map()], RELEASE, {}, OPTIONS)
    assert await data_of(client) == {"k": "theirs", "mine": "x"}
    assert await applier.apply([config_map()], RELEASE, {}, ReleaseOptions(adopt=True)) == Counts(changed=1)
    assert await data_of(client) == {"k": "v", "mine": "x"}


@pytest.mark.parametrize(
    ("api_version", "kind", "told"),
    [
        (
            "apps/v1beta1",
            "Deployment",
            "no kind 'Deployment' in apiVersion 'apps/v1beta1': Deployment is served as apps/v1",
        ),
        ("apps/v1", "deployment", "no kind 'deployment' in apiVersion 'apps/v1': write kind: Deployment"),
        ("apps/v1", "Deployments", "no kind 'Deployments' in apiVersion 'apps/v1': write kind: Deployment"),
    ],
)
async def test_a_kind_that_is_not_served_is_refused_with_what_is(
    applier: ManifestApplier, api_version: str, kind: str, told: str
) -> None:
    obj = deployment() | {"apiVersion": api_version, "kind": kind}
    with pytest.raises(ReleaseFailed, match=told):
        await applier.apply([obj], RELEASE, {}, OPTIONS)


async def test_failed_attempt_does_not_own_objects_that_it_did_not_write(
    applier: ManifestApplier, client: Client
) -> None:
    """The manifest of such a revision is the last one when it is tried again."""
    await post(client, k="theirs")
    last = by_id(config_map())
    with pytest.raises(ReleaseFailed, match="it exists already and belongs to no release"):
        await applier.apply([config_map()], RELEASE, last, OPTIONS, repair=last)
    assert await data_of(client) == {"k": "theirs"}


async def test_object_without_its_marks_is_still_ours(applier: ManifestApplier, client: Client) -> None:
    last = by_id(config_map())
    await applier.apply([config_map()], RELEASE, {}, OPTIONS)
    unmarked = {"metadata": {"annotations": None, "labels": None}}
    await client.send(ApiCall("PATCH", f"{MAPS}/a", {}, unmarked, "application/merge-patch+json"))
    assert await applier.apply([config_map()], RELEASE, last, OPTIONS, repair=last) == Counts(changed=1)


async def test_an_annotation_in_the_template_allows_to_take_over(applier: ManifestApplier, client: Client) -> None:
    await post(client, k="theirs")
    adopting = config_map(**{"hookrunner.io/adopt": "true"})
    assert await applier.writer.write(adopting, RELEASE, None, OPTIONS) == "changed"


async def test_new_field_of_another_manager_is_refused_by_name(applier: ManifestApplier, client: Client) -> None:
    last = config_map()
    await applier.apply([last], RELEASE, {}, OPTIONS)
    how = {"fieldManager": "another-client"}
    await client.send(ApiCall("PATCH", f"{MAPS}/a", how, {"data": {"n": "theirs"}}, "application/merge-patch+json"))
    with pytest.raises(ReleaseFailed, match=r'\.data\.n \(set by "another-client"\)'):
        await applier.apply([config_map(data={"k": "v", "n": "ours"})], RELEASE, by_id(last), OPTIONS)


async def test_an_immutable_field_is_named_with_the_way_out(applier: ManifestApplier) -> None:
    await applier.apply([deployment("a")], RELEASE, {}, OPTIONS)
    with pytest.raises(ReleaseFailed, match=r'spec\.selector cannot change.*hookrunner\.io/recreate: "true"'):
        await applier.apply([deployment("b")], RELEASE, by_id(deployment("a")), OPTIONS)


async def test_an_immutable_field_changes_by_recreation_if_the_template_says_so(
    applier: ManifestApplier, client: Client
) -> None:
    await applier.apply([deployment("a")], RELEASE, {}, OPTIONS)
    new = deployment("b", **{"hookrunner.io/recreate": "true"})
    assert await applier.apply([new], RELEASE, by_id(deployment("a")), OPTIONS) == Counts(created=1)
    found = await client.get("/apis/apps/v1/namespaces/default/deployments/d")
    assert found["spec"]["selector"]["matchLabels"] == {"app": "b"}


async def test_objects_of_a_kind_that_the_release_defines_itself_are_written_after_it(applier: ManifestApplier) -> None:
    custom = {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"a": 1}}
    assert await applier.apply([custom, definition("x.io", "Thing", "v1")], RELEASE, {}, OPTIONS) == Counts(created=2)


async def test_every_failure_is_named_and_the_rest_of_the_stage_is_written(
    applier: ManifestApplier, client: Client, sandbox: Sandbox
) -> None:
    for name in ("a", "b"):
        await post(client, name)
    objects = [deployment(), *(config_map(name) for name in ("a", "b", "c"))]
    with pytest.raises(ReleaseFailed) as caught:
        await applier.apply(objects, RELEASE, {}, OPTIONS)
    lines = str(caught.value).split("\n")
    assert lines[0] == "2 of 4 objects could not be applied:"
    assert lines[1].split(":")[0] == "default/ConfigMap/a, default/ConfigMap/b"
    assert lines[2] == "beside it: default/ConfigMap/c; not tried yet: 1"
    assert await data_of(client, "c") == {"k": "v"}


@pytest.mark.slow
async def test_of_many_failures_some_are_named_and_those_that_differ_are_among_them(
    applier: ManifestApplier, client: Client
) -> None:
    """Two thousand objects without a right to write them were a third of a megabyte at `/readyz`."""
    names = [f"map-{number:02}" for number in range(50)]
    for name in names:
        await post(client, name)
    owner = {"meta.helm.sh/release-name": "other", "meta.helm.sh/release-namespace": "default"}
    helm = {"app.kubernetes.io/managed-by": "Helm"}
    await client.send(ApiCall("POST", MAPS, body={"metadata": {"name": "zz", "annotations": owner, "labels": helm}}))
    with pytest.raises(ReleaseFailed) as caught:
        await applier.apply([config_map(name) for name in (*names, "zz")], RELEASE, {}, OPTIONS)
    lines = str(caught.value).split("\n")
    assert lines[1].split(":")[0].split(", ") == [f"default/ConfigMap/{name}" for name in names[:19]]
    assert lines[2].startswith("default/ConfigMap/zz: it belongs to release default/other")
    assert lines[3:] == ["and 31 more, for the same reasons or others"]


async def test_object_created_before_a_crash_is_ours(applier: ManifestApplier) -> None:
    await applier.apply([config_map()], RELEASE, {}, OPTIONS)
    await applier.apply([config_map()], RELEASE, {}, OPTIONS)
    assert await applier.apply([config_map()], RELEASE, {}, OPTIONS) == Counts(unchanged=1)


async def test_unreachable_api_server_is_reported_and_the_next_attempt_succeeds(
    applier: ManifestApplier, sandbox: Sandbox
) -> None:
    objects = [config_map(name) for name in "abc"]
    sandbox.faults.add(Fault("refuse", match="POST", times=2))
    with pytest.raises(ReleaseFailed, match="2 of 3 objects"):
        await applier.apply(objects, RELEASE, {}, OPTIONS)
    counts = await applier.apply(objects, RELEASE, {}, OPTIONS)
    assert counts.created == 2


async def test_an_object_that_is_being_deleted_is_not_written(applier: ManifestApplier, client: Client) -> None:
    held = config_map()
    held["metadata"]["finalizers"] = ["x.io/held"]
    await applier.apply([held], RELEASE, {}, OPTIONS)
    await client.send(ApiCall("DELETE", f"{MAPS}/a"))
    with pytest.raises(ReleaseFailed, match=r"it is being deleted.*waits for: x\.io/held"):
        await applier.apply([config_map(data={"k": "new"})], RELEASE, by_id(held), OPTIONS)


async def test_nothing_is_written_into_a_namespace_that_is_being_deleted(
    applier: ManifestApplier, client: Client
) -> None:
    """The error names it; what is elsewhere is written, and the next attempt succeeds in its successor."""
    spaces, space = "/api/v1/namespaces", {"metadata": {"name": "dying"}}
    held = {"metadata": {"name": "held", "finalizers": ["x.io/held"]}}
    inside = config_map("b") | {"metadata": {"name": "b", "namespace": "dying"}}
    await client.send(ApiCall("POST", spaces, body=space))
    await client.send(ApiCall("POST", f"{spaces}/dying/configmaps", body=held))
    await client.send(ApiCall("DELETE", f"{spaces}/dying"))
    with pytest.raises(ReleaseFailed, match=r"1 of 2 objects(?s:.*)dying because it is being terminated"):
        await applier.apply([config_map(), inside], RELEASE, {}, OPTIONS)
    freed = {"metadata": {"finalizers": None}}
    call = ApiCall("PATCH", f"{spaces}/dying/configmaps/held", body=freed, content_type="application/merge-patch+json")
    await client.send(call)
    await client.send(ApiCall("POST", spaces, body=space))
    assert (await applier.apply([config_map(), inside], RELEASE, {}, OPTIONS)).created == 1


async def test_duplicate_object_is_written_as_the_last_one(applier: ManifestApplier, client: Client) -> None:
    await applier.apply([config_map(), config_map(data={"k": "last"})], RELEASE, {}, OPTIONS)
    assert await data_of(client) == {"k": "last"}


async def removed(applier: ManifestApplier, objects: Iterable[Any], *spare: ObjectId) -> list[str]:
    return [one.name for one in await applier.remove(by_id(*objects), RELEASE, spare)]


async def test_removal_is_in_reverse_order_and_done_once(applier: ManifestApplier) -> None:
    objects = [config_map("a"), deployment()]
    await applier.apply(objects, RELEASE, {}, OPTIONS)
    assert await removed(applier, objects) == ["d", "a"]
    assert await removed(applier, objects) == []


async def test_kept_and_foreign_objects_are_not_deleted(applier: ManifestApplier, client: Client) -> None:
    kept = config_map("kept", **{"helm.sh/resource-policy": "keep"})
    await applier.apply([kept], RELEASE, {}, OPTIONS)
    await applier.apply([config_map("others")], ReleaseId("other", "default"), {}, OPTIONS)
    await post(client, "nobodys")
    assert await removed(applier, [kept, config_map("others"), config_map("nobodys")]) == []
    names = {item["metadata"]["name"] for item in (await client.get(MAPS))["items"]}
    assert names >= {"kept", "others", "nobodys"}


async def test_removed_kind_is_no_error(applier: ManifestApplier) -> None:
    assert await removed(applier, [{"apiVersion": "gone.io/v1", "kind": "Gone", "metadata": {"name": "a"}}]) == []


async def test_the_same_object_by_another_version_or_a_needless_namespace_is_spared(applier: ManifestApplier) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a"}, "rules": []}
    old = role | {"metadata": {"name": "a", "namespace": "elsewhere"}}
    await applier.apply([role], RELEASE, {}, OPTIONS)
    assert await removed(applier, [old], object_id(role, RELEASE)) == []
    older = role | {"apiVersion": "rbac.authorization.k8s.io/v1beta1"}
    assert await removed(applier, [older], object_id(role, RELEASE)) == []
