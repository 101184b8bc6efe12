"""Field selectors: `metadata.name=web-1,status.phase!=Running`.

https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/ has the grammar. Which fields there
are is a table per kind; custom resources have those that their definition lists (`selectableFields`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kubesandbox.kinds import Kind
from kubesandbox.status import Refused, bad_request, shown
from kubetypes.json_values import JSON
from kubetypes.patches.printed import printed

NAME = "metadata.name"
NAMESPACE = "metadata.namespace"

_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

# Where a field's value stands in the object: the first of these paths that is there. No path: it is always "".
_Places = dict[str, tuple[str, ...]]

_FIELDS: dict[tuple[str, str], _Places] = {
    ("", "pods"): {
        "spec.nodeName": ("spec.nodeName",),
        "spec.host": ("spec.nodeName",),
        "spec.restartPolicy": ("spec.restartPolicy",),
        "spec.schedulerName": ("spec.schedulerName",),
        "spec.serviceAccountName": ("spec.serviceAccountName",),
        "spec.hostNetwork": ("spec.hostNetwork",),
        "status.phase": ("status.phase",),
        "status.podIP": ("status.podIP",),
        "status.podIPs": (),
        "status.nominatedNodeName": ("status.nominatedNodeName",),
    },
    ("", "events"): {
        **{f"involvedObject.{one}": (f"involvedObject.{one}",) for one in _INVOLVED},
        "reason": ("reason",),
        "reportingComponent": ("reportingComponent",),
        "source": ("source.component", "reportingComponent"),
        "type": ("type",),
    },
    ("events.k8s.io", "events"): {
        **{f"regarding.{one}": (f"regarding.{one}", f"involvedObject.{one}") for one in _INVOLVED},
        "reason": ("reason",),
        "reportingController": ("reportingController", "reportingComponent"),
        "type": ("type",),
    },
    ("", "secrets"): {"type": ("type",)},
    ("", "services"): {"spec.clusterIP": ("spec.clusterIP",), "spec.type": ("spec.type",)},
    ("", "nodes"): {"spec.unschedulable": ("spec.unschedulable",)},
    ("", "namespaces"): {"status.phase": ("status.phase",)},
    ("", "replicationcontrollers"): {"status.replicas": ("status.replicas",)},
    ("batch", "jobs"): {"status.successful": ("status.succeeded",)},
    ("certificates.k8s.io", "certificatesigningrequests"): {"spec.signerName": ("spec.signerName",)},
}

# What a field that is left out counts as, where Go's zero value is not the empty text.
_ABSENT = {
    "spec.unschedulable": "false",
    "spec.hostNetwork": "false",
    "status.replicas": "0",
    "status.successful": "0",
}

_TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Term:
    """A field must, or must not, have a value."""

    field: str
    places: tuple[str, ...]
    equal: bool
    value: str

    def matches(self, obj: JSON) -> bool:
        """Whether an object meets it."""
        found = (_at(obj, place) for place in self.places)
        value = next((printed(one) for one in found if one not in (None, "")), _ABSENT.get(self.field, ""))
        return (value == self.value) == self.equal


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All of its terms must be met; without any it selects everything."""

    terms: tuple[Term, ...] = ()

    def matches(self, obj: JSON) -> bool:
        """Whether an object is selected."""
        return all(term.matches(obj) for term in self.terms)

    def exactly(self, field: str) -> str | None:
        """The one value that a field may have (`metadata.name` of a watch on one object), None if there is no such."""
        return next((term.value for term in self.terms if term.field == field and term.equal), None)


def fields(text: str, kind: Kind) -> FieldSelector:
    """The selector of a request on a kind. Raises `Refused`, 400."""
    known = _known(kind)
    terms = []
    for field, equal, value in _terms(text):
        if field not in known:
            raise _unsupported(field, kind)
        terms.append(Term(field, known[field], equal, value))
    return FieldSelector(tuple(terms))


def _terms(text: str) -> list[tuple[str, bool, str]]:
    """Field, whether it must be equal, and value of each term."""
    terms = []
    for part in sorted(filter(None, _parts(text))):
        found = _TERM.fullmatch(part)
        if found is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        terms.append((found[1], found[2] != "!=", _unescaped(found[3])))
    return terms


def _parts(text: str) -> Iterator[str]:
    """What commas separate; those behind a backslash do not."""
    return (found[0] for found in re.finditer(r"(?:\\.|[^\\,]|\\$)+", text, re.DOTALL))


def _unescaped(value: str) -> str:
    for found in re.finditer(r"\\(.?)|([,=])", value, re.DOTALL):
        if found[2]:
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(found[2])}")
        if found[1] not in ("\\", ",", "="):
            raise bad_request(f"invalid field selector: invalid escape sequence: {found[0]}")
    return re.sub(r"\\(.)", r"\1", value)


def _known(kind: Kind) -> _Places:
    """The fields of a kind."""
    meta: _Places = {NAME: (NAME,)}
    if kind.namespaced:
        meta[NAMESPACE] = (NAMESPACE,)
    if kind.custom:
        return meta | {path: (path,) for path in _selectable(kind)}
    if (kind.group, kind.plural) in _FIELDS:
        return meta | _FIELDS[kind.group, kind.plural]
    return {NAME: (NAME,), NAMESPACE: (NAMESPACE,)}


def _selectable(kind: Kind) -> Iterator[str]:
    """`spec.color`, as the definition of a custom kind's version lists them."""
    versions = (kind.definition or {}).get("versions", ())
    for version in versions:
        if version["name"] == kind.version:
            yield from (one["jsonPath"].removeprefix(".") for one in version.get("selectableFields") or ())


def _unsupported(field: str, kind: Kind) -> Refused:
    if kind.group == "batch" and kind.plural == "jobs":
        return bad_request(f"field label {shown(field)} not supported for Job")
    if kind.custom or (kind.group, kind.plural) in _FIELDS:
        return bad_request(f"field label not supported: {field}")
    return bad_request(f'{shown(field)} is not a known field selector: only "{NAME}", "{NAMESPACE}"')


def _at(obj: JSON, path: str) -> JSON:
    for part in path.split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj
