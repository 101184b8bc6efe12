"""What objects of an addon's release have beside Helm's marks: labels, an owner, a word of their users. Pure functions.

    body = with_marks(owned(obj, resource, identity), options.marks)    # as it is sent; no manifest has the marks
    if is_ignored(metadata, options): ...                               # a user's word on the live object
    patch = without_marks(metadata, identity, options.marks)            # to leave the object to its users

Owner references: the API server deletes an object whose owners are gone, and allows one controller only
(https://kubernetes.io/docs/concepts/architecture/garbage-collection/).
"""

from collections.abc import Mapping

from hookrunner.model.releases import ObjectMarks, OwnerReference, ReleaseOptions
from hookrunner.releases.manifest_objects import MANAGED_BY, RELEASE_NAME, RELEASE_NAMESPACE, ReleaseId, owner_of
from kubetypes.json_values import JSON

IGNORE = "addons.k8s.io/ignore"
"""On a live object, with any value: it is neither written nor deleted. As in kubebuilder-declarative-pattern."""

CREATED = "hookrunner.io/created"
"""On a Namespace that an addon's release has created, and so may delete when it is empty."""


ADOPTED = "hookrunner.io/adopted"
"""On a live object, with a release of an addon as value: this release has adopted it. It is written with each apply,
since an apply removes what it does not name. It counts for this release alone."""

TAKEN_FROM = "hookrunner.io/taken-from"
"""On a live object, with a release of an addon as value: the release that it belongs to was installed to take the place
of that one, and has the object from it. That one leaves it alone, and gets it back if it is the one that stays."""


def with_marks(obj: JSON, marks: ObjectMarks) -> JSON:
    """The object as it is sent, with the marks; the namespace is filled in already. An owner has a namespace or none:
    objects of other namespaces cannot belong to one that has. Without marks it is the same object."""
    if not (marks.labels or marks.owner):
        return obj
    metadata = dict(obj["metadata"])
    if marks.labels:
        metadata["labels"] = {**(metadata.get("labels") or {}), **marks.labels}
    if marks.owner and owns(marks.owner, metadata):
        metadata["ownerReferences"] = [*(metadata.get("ownerReferences") or ()), reference(marks.owner)]
    return obj | {"metadata": metadata}


def owns(owner: OwnerReference, metadata: JSON) -> bool:
    """May objects with this metadata belong to the owner?"""
    return owner.namespace in ("", metadata.get("namespace"))


def reference(owner: OwnerReference) -> JSON:
    """The owner reference that is written on objects."""
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def as_created(obj: JSON, identity: ReleaseId, marks: ObjectMarks) -> JSON:
    """The object as it is created: a Namespace of an addon says by which release."""
    if obj.get("kind") != "Namespace" or not marks.labels:
        return obj
    annotations = (obj["metadata"].get("annotations") or {}) | {CREATED: str(identity)}
    return obj | {"metadata": obj["metadata"] | {"annotations": annotations}}


def is_adopted(metadata: JSON, identity: ReleaseId) -> bool:
    """Has this release of an addon adopted the live object?"""
    return _annotation(metadata, ADOPTED) == str(identity)


def comes_from_outside(metadata: JSON, identity: ReleaseId) -> bool:
    """Was a live object that a release adopts written by others? It was not if it belongs to an earlier release of this
    instance: that of a hookrunner in another namespace."""
    owner = owner_of(metadata)
    return owner is None or owner.name != identity.name or is_adopted(metadata, owner)


def as_adopted(obj: JSON, identity: ReleaseId, marks: ObjectMarks) -> JSON:
    """The object as it is sent if it was adopted, or is now. It gets no owner: the garbage collector would delete it
    with that, and the finalizer of an instance can be removed by its author."""
    annotations = (obj["metadata"].get("annotations") or {}) | {ADOPTED: str(identity)}
    ours = _our_references(obj["metadata"], marks)
    owners = [entry for entry in obj["metadata"].get("ownerReferences") or () if entry not in ours]
    metadata = {key: value for key, value in obj["metadata"].items() if key != "ownerReferences"}
    metadata |= {"annotations": annotations} | ({"ownerReferences": owners} if owners else {})
    return obj | {"metadata": metadata}


def taken_from(metadata: JSON, identity: ReleaseId, options: ReleaseOptions) -> ReleaseId | None:
    """The release from which this one takes over a live object, or has taken it; None if it does not take its place."""
    predecessor = ReleaseId(options.predecessor.name, identity.namespace) if options.predecessor else None
    if predecessor is None or owner_of(metadata) == predecessor:
        return predecessor
    is_taken = owner_of(metadata) == identity and origin_of(metadata) == str(predecessor)
    return predecessor if is_taken else None


def is_lent(metadata: JSON, identity: ReleaseId, options: ReleaseOptions) -> bool:
    """Has a release that takes the place of this one taken over the live object, and may this one not take it back?"""
    origin = origin_of(metadata)
    if not origin or origin != str(identity) or owner_of(metadata) in (None, identity):
        return False
    return not taken_from(metadata, identity, options)


def origin_of(metadata: JSON) -> str:
    """The release from which a live object was taken over, empty for none."""
    return _annotation(metadata, TAKEN_FROM)


def as_taken(obj: JSON, metadata: JSON, origin: str, identity: ReleaseId, marks: ObjectMarks) -> JSON:
    """The object as it is sent if it was taken over from the release `origin`, or is now, and may go back to it:
    without an owner, as if it were adopted. It counts as adopted if it did there."""
    body = as_adopted(obj, identity, marks)
    annotations = body["metadata"]["annotations"] | {TAKEN_FROM: origin}
    if _annotation(metadata, ADOPTED) not in (origin, str(identity)):
        del annotations[ADOPTED]
    return body | {"metadata": body["metadata"] | {"annotations": annotations}}


def given_back(metadata: JSON, identity: ReleaseId, predecessor: ReleaseId, marks: ObjectMarks) -> JSON:
    """A JSON merge patch by which a live object belongs again to the release from which it was taken over. That release
    repairs the rest."""
    annotations = {RELEASE_NAME: predecessor.name, RELEASE_NAMESPACE: predecessor.namespace, TAKEN_FROM: None}
    annotations |= {ADOPTED: str(predecessor)} if is_adopted(metadata, identity) else {}
    labels = dict.fromkeys(_present(metadata.get("labels"), list(marks.labels)))
    names = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    return {"metadata": names | {"annotations": annotations, "labels": labels}}


def _annotation(metadata: JSON, name: str) -> str:
    return str((metadata.get("annotations") or {}).get(name) or "")


def with_live_owner(last: JSON, metadata: JSON, marks: ObjectMarks) -> JSON:
    """The object of our last manifest with our own owner references of the live object. An owner that was deleted and
    created again has another uid: an apply drops the reference to the earlier one only if it knows that it was ours."""
    ours = _our_references(metadata, marks)
    return last | {"metadata": last["metadata"] | {"ownerReferences": ours}} if ours else last


def for_dry_run(obj: JSON, metadata: JSON, marks: ObjectMarks) -> JSON:
    """The object as it is tried out: without its owner if the live object still has a reference to an earlier one. The
    write takes that away first, a dry run cannot."""
    if all(marks.owner and entry["uid"] == marks.owner.uid for entry in _our_references(metadata, marks)):
        return obj
    return obj | {"metadata": {key: value for key, value in obj["metadata"].items() if key != "ownerReferences"}}


def _our_references(metadata: JSON, marks: ObjectMarks) -> list[JSON]:
    references = metadata.get("ownerReferences") or ()
    return [entry for entry in references if marks.owner and marks.owner.is_same_object(entry)]


def has_owner(metadata: JSON, identity: ReleaseId, marks: ObjectMarks) -> bool | None:
    """Has a live object the owner reference that was written on it? None if it was written without one, belongs to
    another release, was adopted or taken over, or was left to its user."""
    is_ours = owner_of(metadata) == identity and (metadata.get("labels") or {}).items() >= marks.labels.items()
    is_without = is_adopted(metadata, identity) or origin_of(metadata)
    if not (is_ours and marks.owner and owns(marks.owner, metadata)) or is_without:
        return None
    return bool(_our_references(metadata, marks))


def foreign_controller(metadata: JSON, marks: ObjectMarks) -> str:
    """The controller of a live object as `<Kind> <name>` if it is another than the owner that we would write; else
    empty."""
    if marks.owner is None or not owns(marks.owner, metadata):
        return ""
    controllers = [entry for entry in metadata.get("ownerReferences") or () if entry.get("controller")]
    foreign = [entry for entry in controllers if not marks.owner.is_same_object(entry)]
    return f"{foreign[0].get('kind')} {foreign[0].get('name')}" if foreign else ""


def is_ignored(metadata: JSON, options: ReleaseOptions) -> bool:
    """Has a user asked that this live object be left alone, and does its release respect that?"""
    return options.respect_ignore and IGNORE in (metadata.get("annotations") or {})


def without_marks(metadata: JSON, identity: ReleaseId, marks: ObjectMarks) -> JSON:
    """A JSON merge patch that takes all our marks from a live object, Helm's too; None if it has none, or another
    release's."""
    annotations = [RELEASE_NAME, RELEASE_NAMESPACE, CREATED, ADOPTED, TAKEN_FROM]
    return _patch_without_release(metadata, identity, annotations, marks)


def without_release(metadata: JSON, identity: ReleaseId, marks: ObjectMarks) -> JSON:
    """The same for an adopted object when its release is deleted. `ADOPTED` stays: an attempt that is repeated has to
    see why the object is still there."""
    return _patch_without_release(metadata, identity, [RELEASE_NAME, RELEASE_NAMESPACE], marks)


def without_owner(metadata: JSON, marks: ObjectMarks) -> JSON:
    """A JSON merge patch that takes the marks of an addon from a live object that stays, so that it is not deleted with
    its owner; None if it has none. It still belongs to its release, which may be installed again."""
    return _patch_without(metadata, list(marks.labels), _present(metadata.get("annotations"), [TAKEN_FROM]), marks)


def _patch_without_release(metadata: JSON, identity: ReleaseId, annotations: list[str], marks: ObjectMarks) -> JSON:
    if owner_of(metadata) not in (None, identity):
        return None
    present = _present(metadata.get("annotations"), annotations)
    return _patch_without(metadata, [*MANAGED_BY, *marks.labels], present, marks)


def _patch_without(metadata: JSON, labels: list[str], annotations: list[str], marks: ObjectMarks) -> JSON:
    parts = {"labels": _present(metadata.get("labels"), labels), "annotations": annotations}
    patch: dict[str, JSON] = {part: dict.fromkeys(keys) for part, keys in parts.items() if keys}
    if ours := _our_references(metadata, marks):
        patch["ownerReferences"] = [entry for entry in metadata["ownerReferences"] if entry not in ours]
    if not patch:
        return None
    return {"metadata": patch | {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}}


def _present(values: Mapping[str, str] | None, keys: list[str]) -> list[str]:
    return [key for key in keys if key in (values or {})]
