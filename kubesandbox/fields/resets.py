"""Which fields a write to an object or to a subresource cannot own, because the API server puts them back.

A kind that has `status` keeps it from writes to the object, and the rest from writes to `status`. What exactly "the
rest" is differs from kind to kind, as the API server's strategies have it.
"""

from kubesandbox.kinds import Kind
from kubetypes.field_sets import Fields, of, without

METADATA_TOO = frozenset(
    (
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    )
)
"""Groups where a write to `status` cannot own metadata."""

SPEC = ("f:spec",)
STATUS = ("f:status",)
METADATA = ("f:metadata",)

NO_STATUS = of(STATUS)
NO_SPEC = of(SPEC)
NOTHING_ELSE = of(METADATA, SPEC)

OWN_RULES: dict[tuple[str, str], Fields] = {
    ("deployments.apps", "status"): of(SPEC, ("f:metadata", "f:labels")),
    ("pods", "status"): of(SPEC, ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")),
    ("servicecidrs.networking.k8s.io", "status"): NOTHING_ELSE,
    ("certificatesigningrequests.certificates.k8s.io", ""): of(SPEC, STATUS),
    ("certificatesigningrequests.certificates.k8s.io", "status"): of(SPEC, ("f:status", "f:conditions")),
    ("certificatesigningrequests.certificates.k8s.io", "approval"): of(SPEC, ("f:status", "f:certificate")),
    ("namespaces", "finalize"): NO_STATUS,
}


def ownable(fields: Fields, kind: Kind, subresource: str) -> Fields:
    """What of a set a write to the object ("") or to a subresource can own."""
    return without(fields, _resets(kind, subresource))


def _resets(kind: Kind, subresource: str) -> Fields:
    own = OWN_RULES.get((kind.stored, subresource))
    if own is not None:
        return own
    if "status" not in kind.subresources or subresource not in ("", "status"):
        return {}
    if not subresource:
        return NO_STATUS
    return NOTHING_ELSE if kind.custom or kind.group in METADATA_TOO else NO_SPEC
