"""What may stand in `metadata`, for every kind, built-in or custom; and what an update may not change there.

Names follow the rule of the kind. https://kubernetes.io/docs/concepts/overview/working-with-objects/
"""

from collections.abc import Iterator
from typing import Any

from kubesandbox import names
from kubesandbox.kinds import Kind
from kubesandbox.status import Cause, forbidden_field, required, too_long, wrong

Object = dict[str, Any]

ANNOTATIONS_LIMIT = 256 * 1024
UNCHANGING = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
LABELS = frozenset({"services", "namespaces", "statefulsets.apps"})
SEGMENTS = frozenset({"events", "poddisruptionbudgets.policy"}) | {
    f"{plural}.rbac.authorization.k8s.io" for plural in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
}
PLAIN_FINALIZERS = frozenset(
    {
        "events",
        "poddisruptionbudgets.policy",
        "leases.coordination.k8s.io",
        "runtimeclasses.node.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
    }
)
"""Built-in kinds whose finalizers need no prefix; those of admission have none of it either."""
STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
OWNER_FIELDS = (
    ("apiVersion", "version must not be empty"),
    *((key, "must not be empty") for key in ("kind", "name", "uid")),
)


def problems(kind: Kind, obj: Object, old: Object | None) -> list[Cause]:
    """What is wrong with an object's metadata; with `old`, also what an update changes and may not."""
    meta = obj.get("metadata") or {}
    found = list(_changed(meta, old["metadata"])) if old else list(_name(kind, meta))
    found += _common(meta, finalizers=old is None or not _plain(kind))
    if meta.get("finalizers") and not _plain(kind):
        found += _known_finalizers(meta["finalizers"])
    return found


def _plain(kind: Kind) -> bool:
    return kind.custom or kind.stored in PLAIN_FINALIZERS or kind.group == "admissionregistration.k8s.io"


def name_rule(kind: Kind) -> names.Rule:
    """The rule for names of a kind."""
    if kind.stored in LABELS:
        return names.label
    return names.path_segment if kind.stored in SEGMENTS else names.subdomain


def _name(kind: Kind, meta: Object) -> Iterator[Cause]:
    rule = name_rule(kind)
    prefix = meta.get("generateName")
    if prefix and not names.is_generated(meta.get("name", ""), prefix):
        usual = prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix
        yield from (wrong("metadata.generateName", prefix, said) for said in rule(usual))
    if name := meta.get("name"):
        yield from (wrong("metadata.name", name, said) for said in rule(name))
    else:
        yield required("metadata.name", "name or generateName is required")
    if not kind.namespaced and meta.get("namespace"):
        yield forbidden_field("metadata.namespace", "not allowed on this type")


def _changed(meta: Object, known: Object) -> Iterator[Cause]:
    if "deletionTimestamp" in known:
        extra = sorted(set(meta.get("finalizers") or ()) - set(known.get("finalizers") or ()))
        if extra:
            listed = ", ".join(f'"{one}"' for one in extra)
            why = "no new finalizers can be added if the object is being deleted, found new finalizers "
            yield forbidden_field("metadata.finalizers", f"{why}[]string{{{listed}}}")
    if not meta.get("resourceVersion"):
        yield wrong("metadata.resourceVersion", "", "must be specified for an update")
    if meta.get("generation", 0) < known.get("generation", 0):
        yield wrong("metadata.generation", meta.get("generation", 0), "must not be decremented")
    for key in UNCHANGING:
        if meta.get(key) != known.get(key):
            yield wrong(f"metadata.{key}", meta.get(key), "field is immutable")


def _common(meta: Object, finalizers: bool) -> Iterator[Cause]:
    yield from labels(meta.get("labels") or {}, "metadata.labels")
    yield from annotations(meta.get("annotations") or {}, "metadata.annotations")
    yield from _owners(meta.get("ownerReferences") or [])
    if finalizers:
        yield from _finalizers(meta.get("finalizers") or [])


def labels(given: Object, field: str) -> Iterator[Cause]:
    """What is wrong with a map of labels."""
    for key, value in given.items():
        yield from (wrong(field, key, said) for said in names.qualified(key))
        yield from (wrong(field, value, said) for said in names.label_value(value))


def template(meta: Object, field: str) -> Iterator[Cause]:
    """What is wrong with labels and annotations of a template's metadata."""
    yield from labels(meta.get("labels") or {}, f"{field}.labels")
    yield from annotations(meta.get("annotations") or {}, f"{field}.annotations")


def annotations(given: Object, field: str) -> Iterator[Cause]:
    """What is wrong with a map of annotations."""
    size = 0
    for key, value in given.items():
        yield from (wrong(field, key, said) for said in names.qualified(key.lower()))
        size += len(key.encode()) + len(value.encode())
    if size > ANNOTATIONS_LIMIT:
        yield too_long(field, ANNOTATIONS_LIMIT)


def _owners(given: list[Object]) -> Iterator[Cause]:
    field, controller = "metadata.ownerReferences", ""
    for one in given:
        yield from (wrong(f"{field}.{key}", one.get(key, ""), said) for key, said in OWNER_FIELDS if not one.get(key))
        if (one.get("apiVersion"), one.get("kind")) == ("v1", "Event"):
            yield wrong(field, one, "/v1, Kind=Event is disallowed from being an owner")
        if one.get("controller"):
            called = f"{one.get('kind')}/{one.get('name')}"
            if controller:
                found = f'Found "true" in references for {controller} and {called}'
                yield wrong(field, given, f"Only one reference can have Controller set to true. {found}")
            controller = controller or called


def _finalizers(given: list[str]) -> Iterator[Cause]:
    for one in given:
        yield from (wrong("metadata.finalizers", one, said) for said in names.qualified(one))
    if {"orphan", "foregroundDeletion"} <= set(given):
        yield wrong("metadata.finalizers", given, "finalizer orphan and foregroundDeletion cannot be both set")


def _known_finalizers(given: list[str]) -> Iterator[Cause]:
    """Finalizers of most built-in kinds have a prefix or are the API's own."""
    for at, one in enumerate(given):
        if "/" not in one and one not in STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield wrong(f"metadata.finalizers[{at}]", one, why)
