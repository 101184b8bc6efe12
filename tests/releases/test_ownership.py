"""Which release owns an object; objects are adopted only if no such release exists any more. Level: sandbox."""

import time
from dataclasses import replace
from typing import Any

import pytest

from hookrunner.errors import ObjectOwned, ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.releases import Adoption, ReleaseOptions
from hookrunner.model.resources import Resource
from hookrunner.releases import manifest_objects
from hookrunner.releases.manifest_applier import Counts, ManifestApplier
from hookrunner.releases.manifest_objects import ReleaseId
from hookrunner.releases.objects.object_owners import FRESH
from hookrunner.releases.records.record_storage import Driver
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.releases import wants
from tests.releases.wants import wanted
from tests.releases.world import MAPS, World, started
from tests.tables import each

RELEASE = ReleaseId("r", "ns")
DEPLOYMENT = Resource("apps/v1", "Deployment", "deployments", True)
ROLE = Resource("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False)
OURS = {"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "ns"}


def test_everything_carries_the_marks_of_its_release_and_keeps_its_own() -> None:
    obj = {"kind": "Deployment", "metadata": {"name": "a", "labels": {"app": "a"}, "annotations": None}, "spec": {}}
    assert manifest_objects.owned(obj, DEPLOYMENT, RELEASE) == {
        "kind": "Deployment",
        "spec": {},
        "metadata": {
            "name": "a",
            "namespace": "ns",
            "labels": {"app": "a", "app.kubernetes.io/managed-by": "Helm"},
            "annotations": OURS,
        },
    }


def test_a_kind_without_namespaces_is_sent_without_one() -> None:
    sent = manifest_objects.owned({"kind": "ClusterRole", "metadata": {"name": "a", "namespace": "b"}}, ROLE, RELEASE)
    assert "namespace" not in sent["metadata"]


def test_texts_of_a_secret_are_sent_as_they_are_kept() -> None:
    obj = {"kind": "Secret", "stringData": {"a": "é"}, "data": {"b": "Yg=="}}
    assert manifest_objects.plain(obj) == {"kind": "Secret", "data": {"a": "w6k=", "b": "Yg=="}}


@pytest.mark.parametrize(
    ("annotations", "owner"),
    [
        (OURS, RELEASE),
        (None, None),
        ({"meta.helm.sh/release-namespace": "b"}, None),
        ({**OURS, "meta.helm.sh/release-namespace": "b"}, ReleaseId("r", "b")),
        ({"meta.helm.sh/release-name": "r"}, ReleaseId("r", "")),
    ],
)
def test_annotations_name_the_release_that_an_object_belongs_to(annotations: Any, owner: ReleaseId | None) -> None:
    assert manifest_objects.owner_of({"annotations": annotations}) == owner


NEW = ReleaseId("new", "default")
OLD = ReleaseId("demo", "old")
OPTIONS = ReleaseOptions()
ADOPT = ReleaseOptions(adopt=True)
FOREIGN = "default/ConfigMap/a: it belongs to release old/demo"


def configmap(name: str, **data: str) -> Any:
    """In a namespace that is not that of the release."""
    obj = wants.configmap(name, **data)
    return obj | {"metadata": {"name": name, "namespace": "default"}}


@pytest.fixture(autouse=True)
async def orphan(client: Client, applier: ManifestApplier) -> None:
    """A ConfigMap of release `old/demo`, of which there is no record. The namespace is there."""
    await client.send(ApiCall("POST", "/api/v1/namespaces", body={"metadata": {"name": "old"}}))
    await applier.apply([configmap("a", k="old", gone="x")], OLD, {}, OPTIONS)


async def owner(client: Client) -> str:
    annotations = (await client.get(f"{MAPS}/a"))["metadata"]["annotations"]
    return f"{annotations['meta.helm.sh/release-namespace']}/{annotations['meta.helm.sh/release-name']}"


async def test_orphan_is_adopted_if_allowed(applier: ManifestApplier, client: Client) -> None:
    counts = await applier.apply([configmap("a", k="new")], NEW, {}, ADOPT)
    assert (counts, await owner(client)) == (Counts(changed=1), "default/new")
    assert (await client.get(f"{MAPS}/a"))["data"] == {"k": "new"}
    assert applier.notes.pop(NEW).adopted == [Adoption("default/ConfigMap/a", "old/demo")]
    assert NEW not in applier.notes


@pytest.mark.parametrize("options", [ADOPT, ReleaseOptions(adopt_orphans=True)])
async def test_either_term_allows_it(options: ReleaseOptions, applier: ManifestApplier, client: Client) -> None:
    await applier.apply([configmap("a", k="new")], NEW, {}, options)
    assert await owner(client) == "default/new"


async def test_an_annotation_in_the_template_allows_it(applier: ManifestApplier, client: Client) -> None:
    obj = configmap("a", k="new")
    obj["metadata"]["annotations"] = {"hookrunner.io/adopt": "true"}
    await applier.apply([obj], NEW, {}, OPTIONS)
    assert await owner(client) == "default/new"


async def test_an_orphan_is_refused_with_the_ways_out(applier: ManifestApplier, client: Client) -> None:
    with pytest.raises(ReleaseFailed, match=FOREIGN) as refused:
        await applier.apply([configmap("a")], NEW, {}, OPTIONS)
    for way in ("no record any more", "`hookrunner module adopt new`", 'adopt: "true"', "`adopt: true` in module.yaml"):
        assert way in str(refused.value)
    assert await owner(client) == "old/demo"


async def test_adopting_orphans_alone_does_not_allow_unowned_objects(applier: ManifestApplier, client: Client) -> None:
    await client.send(ApiCall("POST", MAPS, body={"metadata": {"name": "b"}}))
    with pytest.raises(ReleaseFailed, match="belongs to no release"):
        await applier.apply([configmap("b")], NEW, {}, ReleaseOptions(adopt_orphans=True))


async def test_fields_of_an_orphan_do_not_matter(applier: ManifestApplier, client: Client) -> None:
    """An attempt that failed has left its manifest; the template has changed since, and so has another manager."""
    last = configmap("a", k="tried")
    edit = {"data": {"k": "theirs", "more": "theirs"}}
    await client.send(ApiCall("PATCH", f"{MAPS}/a", {"fieldManager": "them"}, edit, "application/merge-patch+json"))
    outcome = await applier.writer.write(configmap("a", k="v", more="new"), NEW, last, ADOPT)
    assert (outcome, (await client.get(f"{MAPS}/a"))["data"]) == ("changed", {"k": "v", "more": "new"})


@pytest.mark.parametrize("driver", ["secret", "configmap"])
async def test_the_objects_of_a_release_that_exists_are_never_taken(
    driver: Driver, applier: ManifestApplier, client: Client
) -> None:
    await started(client, driver=driver).reconcile(wanted("d1", namespace="old"))
    with pytest.raises(ReleaseFailed, match=f"{FOREIGN}, and two releases may not have the same object") as refused:
        await applier.apply([configmap("a")], NEW, {}, ADOPT)
    assert "old/sh.helm.release.v1.demo.v1" in str(refused.value)
    assert await owner(client) == "old/demo"


@pytest.mark.parametrize(
    ("references", "name"),
    [
        ([], "the instance web.old.two of an addon"),
        ([{"apiVersion": "x/v1", "kind": "Web", "name": "two", "uid": "1", "controller": True}], "Web two"),
    ],
)
async def test_object_of_another_instance_is_not_taken_by_advice(
    references: list[Any], name: str, applier: ManifestApplier, client: Client
) -> None:
    other = replace(wanted("d1", namespace="old"), name="web.old.two")
    await started(client).reconcile(other)
    marks = {"labels": {"hookrunner.io/addon": "web.old.two"}, "ownerReferences": references}
    marks["annotations"] = {"meta.helm.sh/release-name": "web.old.two"}
    patch = ApiCall("PATCH", f"{MAPS}/a", body={"metadata": marks}, content_type="application/merge-patch+json")
    await client.send(patch)
    with pytest.raises(ObjectOwned, match=f"it belongs to {name}, which exists: .*`.addon.name`") as refused:
        await applier.apply([configmap("a")], NEW, {}, ADOPT)
    assert "kubectl delete" not in str(refused.value)


async def test_an_orphan_of_an_instance_without_records_is_adopted(applier: ManifestApplier, client: Client) -> None:
    marks = {"labels": {"hookrunner.io/addon": "web.old.two"}}
    patch = ApiCall("PATCH", f"{MAPS}/a", body={"metadata": marks}, content_type="application/merge-patch+json")
    await client.send(patch)
    await applier.apply([configmap("a", k="new")], NEW, {}, ADOPT)
    assert await owner(client) == "default/new"


async def test_a_record_without_labels_is_a_record(applier: ManifestApplier, client: Client) -> None:
    await started(client).reconcile(wanted("d1", namespace="old"))
    path = "/api/v1/namespaces/old/secrets/sh.helm.release.v1.demo.v1"
    await client.send(
        ApiCall("PATCH", path, body={"metadata": {"labels": None}}, content_type="application/merge-patch+json")
    )
    with pytest.raises(ReleaseFailed, match="two releases may not have the same object"):
        await applier.apply([configmap("a")], NEW, {}, ADOPT)


async def test_the_record_of_a_release_of_a_longer_name_is_anothers(applier: ManifestApplier, client: Client) -> None:
    other = wanted("d1", namespace="old")
    await started(client).reconcile(replace(other, name="demo.v1"))
    await applier.apply([configmap("a", k="new")], NEW, {}, ADOPT)
    assert await owner(client) == "default/new"


@pytest.mark.parametrize("kind", ["secrets", "configmaps"])
async def test_without_the_right_to_list_records_nothing_is_adopted(
    kind: str, applier: ManifestApplier, client: Client, sandbox: Sandbox
) -> None:
    sandbox.faults.add(Fault("answer", f"/namespaces/old/{kind}", status=403))
    with pytest.raises(ReleaseFailed, match=f"{FOREIGN}, and it is unknown whether that still exists") as refused:
        await applier.apply([configmap("a")], NEW, {}, ADOPT)
    assert "grant the right to list secrets and configmaps in namespace old" in str(refused.value)
    assert await owner(client) == "old/demo"


async def test_deleted_namespace_needs_no_right(applier: ManifestApplier, client: Client, sandbox: Sandbox) -> None:
    """Who may list in some namespaces only may not list in one that is gone."""
    await client.send(ApiCall("DELETE", "/api/v1/namespaces/old"))
    sandbox.faults.add(Fault("answer", "/namespaces/old/secrets", status=403))
    await applier.apply([configmap("a", k="new")], NEW, {}, ADOPT)
    assert await owner(client) == "default/new"


async def test_an_owner_without_a_namespace_is_not_looked_up(applier: ManifestApplier, client: Client) -> None:
    path, none = f"{MAPS}/a", {"metadata": {"annotations": {"meta.helm.sh/release-namespace": None}}}
    await client.send(ApiCall("PATCH", path, body=none, content_type="application/merge-patch+json"))
    with pytest.raises(ReleaseFailed, match="release /demo of an unknown namespace"):
        await applier.apply([configmap("a")], NEW, {}, ADOPT)


@pytest.mark.slow
async def test_many_orphans_of_one_release_cost_one_request(applier: ManifestApplier, sandbox: Sandbox) -> None:
    many = [configmap(f"m{number}") for number in range(30)]
    await applier.apply(many, OLD, {}, OPTIONS)
    sandbox.faults.requests.clear()
    began = time.monotonic()
    assert await applier.apply(many, NEW, {}, ADOPT) == Counts(changed=30)
    looks = [line for line in sandbox.faults.requests if "/namespaces/old/" in line]
    assert len(looks) <= 2 * (1 + (time.monotonic() - began) // FRESH)  # more than once only on a busy machine


async def test_an_orphan_is_created_anew_where_a_field_cannot_change(applier: ManifestApplier, client: Client) -> None:
    def fixed(value: str) -> Any:
        return configmap("f", k=value) | {"immutable": True}

    await applier.apply([fixed("old")], OLD, {}, OPTIONS)
    obj = fixed("new")
    obj["metadata"]["annotations"] = {"hookrunner.io/recreate": "true"}
    assert await applier.apply([obj], NEW, {}, ADOPT) == Counts(created=1)
    assert applier.notes.pop(NEW).adopted == [Adoption("default/ConfigMap/f", "old/demo")]


async def test_release_that_failed_for_an_orphan_adopts_it_when_allowed(client: Client, world: World) -> None:
    releases, want = started(client), wanted("d1", configmap("a", k="new"))
    with pytest.raises(ReleaseFailed, match="no record any more"):
        await releases.reconcile(want)
    assert (await releases.reconcile(wanted("d1", *want.rendered.objects, adopt=True))).changed == 1
    assert releases.take_notes("demo", "default").adopted == [Adoption("default/ConfigMap/a", "old/demo")]
    assert await world.history() == ["1 deployed"]


def test_adoption_names_the_object_and_its_last_owner() -> None:
    assert str(Adoption("d/ConfigMap/a", "old/demo")) == "d/ConfigMap/a (from release old/demo)"
    assert str(Adoption("d/ConfigMap/a")) == "d/ConfigMap/a (from no release)"


@each(("policy", "stays"), [("keep", True), (" Keep ", True), ("KEEP", True), ("delete", False), ("", False)])
def test_the_policy_to_keep_an_object_is_read_as_helm_reads_it(policy: str, stays: bool) -> None:
    """In any case, with spaces around it."""
    assert manifest_objects.must_stay({"annotations": {manifest_objects.POLICY: policy}}) is stays


def test_object_without_a_policy_is_deleted() -> None:
    assert not manifest_objects.must_stay({})
