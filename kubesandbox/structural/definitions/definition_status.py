"""The status of a definition: which of its names are accepted, and with that whether it is served; approvals.

Two definitions of one group may not share a name for a resource (plural, singular, short) nor one for a kind. The
first one keeps it. The real API server takes a moment to establish a definition; here it is served at once.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
"""

import re
from collections.abc import Iterable, Iterator

from kubesandbox import trust
from kubesandbox.status import Cause, required, shown, wrong
from kubetypes.json_values import JSON

CONFLICTS = {
    "plural": "PluralConflict",
    "singular": "SingularConflict",
    "shortNames": "ShortNamesConflict",
    "kind": "KindConflict",
    "listKind": "ListKindConflict",
}
ORDER = ("plural", "singular", "shortNames", "kind", "listKind", "categories")


def status(crd: JSON, others: Iterable[JSON], now: str) -> JSON:
    """The `status` of a definition that was checked and defaulted, beside `others` (those that are already kept).

    `now` (RFC 3339) is the time of what changes. Other fields of the old status stay as they were.
    """
    old = crd.get("status") or {}
    rivals = [one for one in others if one["metadata"]["name"] != crd["metadata"]["name"]]
    taken = [_accepted(one) for one in rivals if one["spec"]["group"] == crd["spec"]["group"]]
    accepted, conflict = _decided(crd["spec"]["names"], old.get("acceptedNames") or {}, taken)
    conditions = [_names_condition(conflict), _established(crd, old, conflict), *_approval_conditions(crd)]
    return old | {
        "conditions": [_since(condition, old, now) for condition in conditions],
        "acceptedNames": accepted,
        "storedVersions": stored_versions(crd),
    }


def has_its_names(crd: JSON) -> bool:
    """Does it have all names that it wants, as its status says?"""
    return bool(_condition(crd.get("status") or {}, "NamesAccepted").get("status") == "True")


def stored_versions(crd: JSON) -> list[str]:
    """The versions in which objects may be stored: those of the status, and the one in which they are stored now."""
    known = list((crd.get("status") or {}).get("storedVersions") or ())
    stored = next((one["name"] for one in crd["spec"]["versions"] if one["storage"]), None)
    return known if stored is None or stored in known else [*known, stored]


def _accepted(crd: JSON) -> JSON:
    return (crd.get("status") or {}).get("acceptedNames") or {}


def _decided(wanted: JSON, had: JSON, taken: list[JSON]) -> tuple[JSON, tuple[str, str] | None]:
    """The names that the definition has now, and reason and message if it does not get all that it wants."""
    resources = {name for names in taken for name in _resource_names(names)}
    kinds = {name for names in taken for name in (names.get("kind"), names.get("listKind"))}
    accepted, conflict = {}, None
    for key, reason in CONFLICTS.items():
        used = kinds if key in ("kind", "listKind") else resources
        clashes = [name for name in _listed(wanted.get(key)) if name not in _listed(had.get(key)) and name in used]
        if clashes:
            conflict = reason, _aggregated([f"{shown(name)} is already in use" for name in clashes])
        accepted[key] = had.get(key) if clashes else wanted.get(key)
    accepted["categories"] = wanted.get("categories")
    # `plural` and `kind` are there even if empty.
    return {key: accepted[key] or "" for key in ORDER if accepted[key] or key in ("plural", "kind")}, conflict


def _resource_names(names: JSON) -> Iterator[str]:
    yield from (names[key] for key in ("plural", "singular") if names.get(key))
    yield from names.get("shortNames") or ()


def _listed(value: JSON) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def _aggregated(messages: list[str]) -> str:
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"


def _names_condition(conflict: tuple[str, str] | None) -> JSON:
    reason, message = conflict or ("NoConflicts", "no conflicts found")
    return {"type": "NamesAccepted", "status": "False" if conflict else "True", "reason": reason, "message": message}


def ca_bundle(crd: JSON) -> str:
    """The CA bundle of the conversion's webhook, "" without one."""
    client = ((crd["spec"].get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}
    return client.get("caBundle") or ""


def _established(crd: JSON, old: JSON, conflict: tuple[str, str] | None) -> JSON:
    before = _condition(old, "Established")
    if before.get("status") == "True":
        return before
    state = {"type": "Established", "status": "False", "reason": "NotAccepted", "message": "not all names are accepted"}
    if conflict:
        return before or state
    if (bundle := ca_bundle(crd)) and not trust.readable(bundle):
        return state | {"reason": "InvalidCABundle", "message": "The conversion webhook CABundle is invalid"}
    message = "the initial names have been accepted"
    return state | {"status": "True", "reason": "InitialNamesAccepted", "message": message}


def _since(condition: JSON, old: JSON, now: str) -> JSON:
    """With the time at which it became so."""
    before = _condition(old, condition["type"])
    time = before["lastTransitionTime"] if before.get("status") == condition["status"] else now
    told = {key: condition[key] for key in ("type", "status")}
    return told | {"lastTransitionTime": time, "reason": condition["reason"], "message": condition["message"]}


def _condition(status: JSON, kind: str) -> JSON:
    return next((one for one in status.get("conditions") or () if one["type"] == kind), {})


# ── approval of protected groups ──────────────────────────────────────────────────────────────────────────────────────

# Groups that belong to Kubernetes (`*.k8s.io`) need an annotation that says who approved the definition.
#
# https://kubernetes.io/docs/reference/labels-annotations-taints/#api-approved-kubernetes-io


ANNOTATION = "api-approved.kubernetes.io"
FIELD = f"metadata.annotations[{ANNOTATION}]"
PROTECTED = re.compile(r"(.*\.)?(k8s|kubernetes)\.io")
WITH_HOST = re.compile(r"[A-Za-z][-+.A-Za-z0-9]*://[^/\s]\S*")
ABOUT = "see https://github.com/kubernetes/enhancements/pull/1111"


def _approval_conditions(crd: JSON) -> Iterator[JSON]:
    """The condition that says whether the policy is met; none for other groups."""
    if PROTECTED.fullmatch(crd["spec"]["group"]):
        state, message = _state(crd)
        kind = "KubernetesAPIApprovalPolicyConformant"
        yield {"type": kind, "status": str(state == "Approved"), "reason": f"{state}Annotation", "message": message}


def approval_problems(crd: JSON, old: JSON | None) -> Iterator[Cause]:
    """An annotation that is missing or says nothing; an old definition may stay as it was."""
    if not PROTECTED.fullmatch(crd["spec"].get("group", "")):
        return
    state, message = _state(crd)
    if old is not None and _state(old)[0] == state:
        return
    if state == "Missing":
        yield required(FIELD, message)
    elif state == "Invalid":
        yield wrong(FIELD, crd["metadata"]["annotations"][ANNOTATION], message)


def _state(crd: JSON) -> tuple[str, str]:
    said = (crd["metadata"].get("annotations") or {}).get(ANNOTATION, "")
    rule = f"protected groups must have approval annotation {shown(ANNOTATION)}"
    if not said:
        return "Missing", f"{rule}, {ABOUT}"
    if said.startswith("unapproved"):
        return "Unapproved", f"not approved: {shown(said)}"
    if WITH_HOST.fullmatch(said):
        return "Approved", f"approved in {said}"
    return "Invalid", f'{rule} with either a URL or a reason starting with "unapproved", {ABOUT}'
