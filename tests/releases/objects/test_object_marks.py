"""Marks of an addon's objects: what is sent, what is read, and how they are taken away. Level: pure."""

from dataclasses import replace
from typing import Any

from hookrunner.model.releases import ObjectMarks, OwnerReference, ReleaseOptions
from hookrunner.releases.manifest_objects import MANAGED_BY, RELEASE_NAME, RELEASE_NAMESPACE, ReleaseId
from hookrunner.releases.objects import object_marks
from tests.tables import each

OWNER = OwnerReference("addons.x-k8s.io/v1alpha1", "CoreDNS", "default", "u1", "kube-system")
MARKS = ObjectMarks({"hookrunner.io/addon": "coredns.kube-system.default"}, OWNER)
RELEASE = ReleaseId("coredns.kube-system.default", "hookrunner")
REFERENCE = object_marks.reference(OWNER)


def metadata(namespace: str = "kube-system", **more: Any) -> dict[str, Any]:
    return {"name": "x", "namespace": namespace, "uid": "x1", "resourceVersion": "7"} | more


def references(sent: dict[str, Any]) -> Any:
    return sent["metadata"].get("ownerReferences")


@each(
    ("namespace", "owner", "owned"),
    [
        ("kube-system", OWNER, True),
        ("default", OWNER, False),
        ("", OWNER, False),
        ("default", replace(OWNER, namespace=""), True),
        ("", replace(OWNER, namespace=""), True),
    ],
)
def test_owner_owns_objects_of_its_namespace_or_all(namespace: str, owner: OwnerReference, owned: bool) -> None:
    obj = {"metadata": {"name": "x"} | ({"namespace": namespace} if namespace else {})}
    sent = object_marks.with_marks(obj, replace(MARKS, owner=owner))
    assert references(sent) == ([REFERENCE] if owned else None)
    assert sent["metadata"]["labels"] == MARKS.labels


def test_release_without_marks_sends_its_objects_unchanged() -> None:
    assert object_marks.with_marks({"metadata": metadata()}, ObjectMarks()) == {"metadata": metadata()}


def test_mark_replaces_a_label_of_the_manifest() -> None:
    obj = {"metadata": metadata(labels={"hookrunner.io/addon": "mine", "app": "x"})}
    assert object_marks.with_marks(obj, MARKS)["metadata"]["labels"] == {**MARKS.labels, "app": "x"}


@each(
    ("reference", "named"),
    [
        ({"kind": "ReplicaSet", "name": "web", "controller": True}, "ReplicaSet web"),
        ({"kind": "ReplicaSet", "name": "web"}, ""),
        (REFERENCE, ""),
        (REFERENCE | {"uid": "earlier"}, ""),
        (REFERENCE | {"apiVersion": "addons.x-k8s.io/v1"}, ""),
        (REFERENCE | {"apiVersion": "other.io/v1alpha1"}, "CoreDNS default"),
        (REFERENCE | {"name": "another"}, "CoreDNS another"),
    ],
)
def test_controller_of_another_owner_is_named(reference: dict[str, Any], named: str) -> None:
    assert object_marks.foreign_controller(metadata(ownerReferences=[reference]), MARKS) == named


def test_controller_does_not_matter_where_we_write_no_reference() -> None:
    live = metadata("default", ownerReferences=[{"kind": "ReplicaSet", "name": "web", "controller": True}])
    assert object_marks.foreign_controller(live, MARKS) == ""


def test_reference_to_an_earlier_owner_counts_as_ours() -> None:
    earlier, other = REFERENCE | {"uid": "earlier"}, {"kind": "Node", "name": "n"}
    last = {"metadata": {"name": "x", "ownerReferences": [REFERENCE]}}
    told = object_marks.with_live_owner(last, metadata(ownerReferences=[other, earlier]), MARKS)
    assert references(told) == [earlier]
    assert object_marks.with_live_owner(last, metadata(), MARKS) == last


@each(
    ("respected", "annotations", "ignored"),
    [(True, {object_marks.IGNORE: ""}, True), (False, {object_marks.IGNORE: ""}, False), (True, None, False)],
)
def test_live_object_is_ignored_if_its_release_respects_that(respected: bool, annotations: Any, ignored: bool) -> None:
    options = ReleaseOptions(respect_ignore=respected)
    assert object_marks.is_ignored(metadata(annotations=annotations), options) is ignored


def test_only_namespaces_of_addons_say_who_created_them() -> None:
    obj = {"kind": "Namespace", "metadata": {"name": "x"}}
    created = object_marks.as_created(obj, RELEASE, MARKS)
    assert created["metadata"]["annotations"] == {object_marks.CREATED: str(RELEASE)}
    assert object_marks.as_created(obj, RELEASE, ObjectMarks()) == obj
    assert object_marks.as_created(obj | {"kind": "Secret"}, RELEASE, MARKS) == obj | {"kind": "Secret"}


def test_marks_are_taken_away_and_nothing_else() -> None:
    other = {"kind": "Node", "name": "n"}
    live = metadata(
        labels={**MANAGED_BY, **MARKS.labels, "app": "x"},
        annotations={RELEASE_NAME: RELEASE.name, RELEASE_NAMESPACE: RELEASE.namespace, "mine": "y"},
        ownerReferences=[REFERENCE, other],
    )
    assert object_marks.without_marks(live, RELEASE, MARKS) == {
        "metadata": {
            "labels": dict.fromkeys([*MANAGED_BY, *MARKS.labels]),
            "annotations": dict.fromkeys([RELEASE_NAME, RELEASE_NAMESPACE]),
            "ownerReferences": [other],
            "uid": "x1",
            "resourceVersion": "7",
        }
    }


@each("annotations", [None, {RELEASE_NAME: "other", RELEASE_NAMESPACE: "hookrunner"}])
def test_object_without_our_marks_is_not_changed(annotations: Any) -> None:
    assert object_marks.without_marks(metadata(annotations=annotations), RELEASE, MARKS) is None
