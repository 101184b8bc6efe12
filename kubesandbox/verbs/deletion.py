"""What a request for deletion does to an object: it goes at once, or it is marked and waits for its finalizers. Pure.

https://kubernetes.io/docs/concepts/architecture/garbage-collection/#cascading-deletion and, for the grace of Pods,
https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
"""

from copy import deepcopy
from datetime import datetime, timedelta

from kubesandbox import status
from kubesandbox.kinds import Kind
from kubesandbox.query.requests import DeleteParameters
from kubesandbox.times import rfc3339
from kubesandbox.verbs import rules
from kubesandbox.verbs.rules import Object

IMMORTAL = ("default", "kube-system", "kube-public")
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""Keeps a CustomResourceDefinition until its objects are gone."""
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
FINALIZER_OF = {"Orphan": ORPHAN, "Foreground": FOREGROUND}


def check_preconditions(kind: Kind, obj: Object, options: DeleteParameters) -> None:
    """Raises Refused 409 for an object with another uid or version than the precondition's, 403 for a protected one."""
    meta = obj["metadata"]
    pairs = (
        ("UID", options.uid, meta["uid"], "deleted and then recreated"),
        ("ResourceVersion", options.version, meta["resourceVersion"], "modified"),
    )
    for what, wanted, there, happened in pairs:
        if wanted and wanted != there:
            why = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({there})"
            raise status.conflict(kind.named(meta["name"]), f"{why}. The object might have been {happened}")
    if kind.stored == "namespaces" and meta["name"] in IMMORTAL:
        raise status.forbidden(kind.resource(meta["name"]), "this namespace may not be deleted")


def marked(kind: Kind, old: Object, options: DeleteParameters, now: datetime) -> Object | None:
    """The object as it waits for its end, or None if nothing keeps it."""
    obj = deepcopy(old)
    meta = obj["metadata"]
    _set_finalizers(meta, kind, options)
    grace = rules.grace(kind, obj, options.grace)
    if not meta.get("finalizers") and not waits(obj) and grace == 0:
        return None
    known = meta.get("deletionGracePeriodSeconds")
    if "deletionTimestamp" not in meta:
        meta["deletionTimestamp"] = rfc3339(now + timedelta(seconds=grace))
        if "generation" in meta:
            meta["generation"] += 1
        meta["deletionGracePeriodSeconds"] = grace
    elif known and grace < known:
        meta["deletionTimestamp"] = rfc3339(now + timedelta(seconds=grace))
        meta["deletionGracePeriodSeconds"] = grace
    return rules.ending(kind, obj)


def pending(kind: Kind, old: Object, options: DeleteParameters, now: datetime) -> bool:
    """Whether a Pod's grace is running already and stays as it is: webhooks are not asked again."""
    running = kind.stored == "pods" and bool(old["metadata"].get("deletionGracePeriodSeconds"))
    return running and marked(kind, old, options, now) == old


def _set_finalizers(meta: Object, kind: Kind, options: DeleteParameters) -> None:
    """The way in which dependents go, as a finalizer for the garbage collector."""
    finalizers = meta.get("finalizers") or []
    asked = options.propagation
    if not asked and not {ORPHAN, FOREGROUND} & set(finalizers):
        asked = rules.default_propagation(kind)
    if asked:
        finalizers = [one for one in finalizers if one not in (ORPHAN, FOREGROUND)]
        finalizers += [FINALIZER_OF[asked]] if asked in FINALIZER_OF else []
    if kind.stored == rules.DEFINITIONS and CLEANUP not in finalizers and "deletionTimestamp" not in meta:
        finalizers = [*finalizers, CLEANUP]
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)


def waits(obj: Object) -> bool:
    """Whether a Namespace still has something to empty (`spec.finalizers`)."""
    return bool(obj["kind"] == "Namespace" and obj["apiVersion"] == "v1" and obj.get("spec", {}).get("finalizers"))


def finished(obj: Object) -> bool:
    """Whether an object whose deletion was asked for has nothing left to wait for."""
    meta = obj["metadata"]
    asked = "deletionTimestamp" in meta and not meta.get("deletionGracePeriodSeconds")
    return asked and not meta.get("finalizers") and not waits(obj)
