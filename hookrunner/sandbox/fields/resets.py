"""Which fields a write to an object or to a subresource cannot own, because the API server puts them back.

A kind that has `status` keeps it from writes to the object, and the rest from writes to `status`. What exactly "the
rest" is differs from kind to kind, as the API server's strategies have it.
"""

from functools import lru_cache

from hookrunner.sandbox.fields.sets import Fields, of
from hookrunner.sandbox.kinds import Kind

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

OWN_RULES: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("deployments.apps", "status"): (SPEC, ("f:metadata", "f:labels")),
    ("pods", "status"): (SPEC, ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")),
    ("servicecidrs.networking.k8s.io", "status"): (METADATA, SPEC),
    ("certificatesigningrequests.certificates.k8s.io", ""): (SPEC, STATUS),
    ("certificatesigningrequests.certificates.k8s.io", "status"): (SPEC, ("f:status", "f:conditions")),
    ("certificatesigningrequests.certificates.k8s.io", "approval"): (SPEC, ("f:status", "f:certificate")),
    ("namespaces", "finalize"): (STATUS,),
}


def resets(kind: Kind, subresource: str) -> Fields:
    """The paths that, with all below them, cannot be owned by a write to the object ("") or to a subresource."""
    return _resets(kind.stored, subresource, "status" in kind.subresources, kind.custom or kind.group in METADATA_TOO)


@lru_cache(maxsize=1024)
def _resets(stored: str, subresource: str, has_status: bool, metadata: bool) -> Fields:
    own = OWN_RULES.get((stored, subresource))
    if own is not None:
        return of(*own)
    if not has_status or subresource not in ("", "status"):
        return {}
    if not subresource:
        return of(STATUS)
    return of(METADATA, SPEC) if metadata else of(SPEC)
