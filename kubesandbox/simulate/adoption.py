"""Adoption: a controller adopts objects that its selector matches and no controller owns, and releases objects that it
no longer matches. So Pods can be taken out of a set by a label, and sets survive `kubectl delete --cascade=orphan`.

https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#non-template-pod-acquisitions
"""

from kubesandbox.rules import Object
from kubesandbox.selectors import from_object
from kubesandbox.simulate.making import is_ending, owned_by
from kubesandbox.simulate.steps import Update, Write
from kubesandbox.simulate.world import World, controller


def claimed(owner: Object, world: World, resource: str) -> tuple[Write, ...]:
    """The references that have to be added or taken away before children can be counted."""
    if is_ending(owner):
        return ()
    selector = from_object(owner["spec"]["selector"])
    writes: list[Write] = []
    for obj in world.all(resource, owner["metadata"]["namespace"]):
        meta, reference = obj["metadata"], controller(obj)
        references = meta.get("ownerReferences") or []
        named = selector.matches(meta.get("labels") or {})
        if reference is None and named and not is_ending(obj):
            writes.append(_with_owners(obj, [*references, *owned_by(owner)]))
        elif reference is not None and reference["uid"] == owner["metadata"]["uid"] and not named:
            writes.append(_with_owners(obj, [one for one in references if one is not reference]))
    return tuple(writes)


def _with_owners(obj: Object, references: list[Object]) -> Update:
    return Update({**obj, "metadata": {**obj["metadata"], "ownerReferences": references}})
