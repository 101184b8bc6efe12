"""What a write changed, as each version of a kind sees it: an entry's paths are those of its own version.

Fields that the API server puts back after a write are not among them.
"""

from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus

from kubesandbox.fields.compare import Changes, changes
from kubesandbox.fields.entries import ManagedFieldsEntry
from kubesandbox.fields.shapes import Shape, custom_shape, shape_of
from kubesandbox.kinds import Kind
from kubesandbox.status import Refused
from kubetypes.field_sets import Fields, of, without
from kubetypes.json_values import JSON
from kubetypes.openapi.schemas import Schema


def shape_in(kind: Kind, api_version: str) -> Shape | None:
    """How objects of the kind are owned in a version; None if there is no such version.

    Versions of custom kinds are read from the definition. Built-in kinds look alike in all of theirs.
    """
    if api_version == kind.api_version:
        return shape_of(kind)
    group, _, version = api_version.rpartition("/")
    if group != kind.group:
        return None
    if kind.definition is None:
        return shape_of(kind)
    found = (one for one in kind.definition["versions"] if one["name"] == version)
    return next((_other_version(kind, one["name"]) for one in found), None)


@lru_cache(maxsize=256)
def _other_version(kind: Kind, version: str) -> Shape:
    versions = kind.definition["versions"] if kind.definition else []
    raw = next(one.get("schema", {}).get("openAPIV3Schema", {}) for one in versions if one["name"] == version)
    return custom_shape(Schema(raw))


class UnknownVersion(ValueError):
    """An entry is of a version that the definition of a custom kind does not have."""


def check_versions(entries: Iterable[ManagedFieldsEntry], kind: Kind) -> None:
    """Raises `Refused` 500 if an entry is of a version that a custom kind no longer has."""
    for entry in entries:
        if kind.custom and shape_in(kind, entry.api_version) is None:
            message = f"request to convert CR to an invalid group/version: {entry.api_version}"
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "", message)


class Differences:
    """Between a live object, `{}` before its creation, and what a write made of it."""

    def __init__(self, live: JSON, new: JSON, kind: Kind, subresource: str) -> None:
        self._live = live
        self._new = new
        self._kind = kind
        self._subresource = subresource
        self._found: dict[str, Changes | None] = {}

    @property
    def written(self) -> Changes:
        """In the version of the write."""
        return self.of(self._kind.api_version) or Changes({}, {}, {})

    def of(self, api_version: str) -> Changes | None:
        """In another version, None if a built-in kind has no such version. Raises `NoElement`, `UnknownVersion`."""
        if api_version not in self._found:
            self._found[api_version] = self._in(api_version)
        return self._found[api_version]

    def _in(self, api_version: str) -> Changes | None:
        shape = shape_in(self._kind, api_version)
        if shape is None and self._kind.custom:
            raise UnknownVersion(api_version)
        if shape is None:
            return None
        return Changes(*(ownable(one, self._kind, self._subresource) for one in changes(self._live, self._new, shape)))


# ── resets ────────────────────────────────────────────────────────────────────────────────────────────────────────────

# Which fields a write to an object or to a subresource cannot own, because the API server puts them back.
#
# A kind that has `status` keeps it from writes to the object, and the rest from writes to `status`. What exactly "the
# rest" is differs from kind to kind, as the API server's strategies have it.


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
