"""Field selectors: `metadata.name=web-1,status.phase!=Running`.

https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/ has the grammar. Which fields there
are is a table per kind; custom resources have those that their definition lists (`selectableFields`).
"""

from collections.abc import Iterator
from dataclasses import replace

from kubesandbox.kinds import Kind
from kubesandbox.status import Refused, bad_request, shown
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.selectors import Term, WrongSelector, failed_field, field_terms

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


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All of its terms must be met; without any it selects everything."""

    terms: tuple[Term, ...] = ()

    def matches(self, obj: JSON) -> bool:
        """Whether an object is selected."""
        return failed_field(self.terms, obj) is None

    def exactly(self, field: str) -> str | None:
        """The one value that a field may have (`metadata.name` of a watch on one object), None if there is no such."""
        return next((term.value for term in self.terms if term.field == field and term.equal), None)


def fields(text: str, kind: Kind) -> FieldSelector:
    """The selector of a request on a kind. Raises `Refused`, 400."""
    known = _known(kind)
    try:
        terms = field_terms(text)
    except WrongSelector as error:
        raise bad_request(str(error)) from None
    for term in terms:
        if term.field not in known:
            raise _unsupported(term.field, kind)
    return FieldSelector(tuple(replace(term, places=known[term.field]) for term in terms))


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
