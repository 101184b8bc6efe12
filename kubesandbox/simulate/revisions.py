"""ControllerRevisions: the templates that a StatefulSet or a DaemonSet had, for `kubectl rollout history` and `undo`.

https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/controller-revision-v1/
"""

from dataclasses import dataclass

from kubesandbox.rules import Object
from kubesandbox.simulate import making
from kubesandbox.simulate.steps import Create, Delete, Update, Write
from kubesandbox.simulate.world import World

REVISIONS = "controllerrevisions.apps"


@dataclass(frozen=True, slots=True)
class Revision:
    """The newest: its hash, its object's name, and what has to be written so that it and no surplus are there."""

    hash: str
    name: str
    writes: tuple[Write, ...]


def newest(owner: Object, world: World, label: str) -> Revision:
    """The revision of the owner's template as it is now. `label` is the key of the hash."""
    known = sorted(world.owned(REVISIONS, owner), key=lambda one: int(one["revision"]))
    template = owner["spec"]["template"]
    short = making.template_hash(template)
    name = f"{owner['metadata']['name']}-{short}"
    there = next((one for one in known if one["metadata"]["name"] == name), None)
    number = known[-1]["revision"] + 1 if known else 1
    if there is None:
        return Revision(short, name, (Create(_made(owner, name, {label: short}, number)),))
    if there is not known[-1]:
        return Revision(short, name, (Update({**there, "revision": number}),))
    surplus = len(known) - 1 - owner["spec"].get("revisionHistoryLimit", 10)
    return Revision(short, name, tuple(Delete(one) for one in known[: max(0, surplus)]))


def _made(owner: Object, name: str, label: dict[str, str], number: int) -> Object:
    template = owner["spec"]["template"]
    labels = {**((template.get("metadata") or {}).get("labels") or {}), **label}
    metadata = {"name": name, "labels": labels, "annotations": owner["metadata"].get("annotations") or {}}
    made = making.child(owner, "apps/v1", "ControllerRevision", metadata)
    return {**made, "data": {"spec": {"template": {"$patch": "replace", **template}}}, "revision": number}
