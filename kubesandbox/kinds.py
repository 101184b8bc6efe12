"""What the sandbox serves: built-in kinds from the package's data, custom ones from CustomResourceDefinitions.

A `Kind` is one resource in one version. `Kinds` is all of them, changing as definitions come and go.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from kubesandbox.status import About
from kubesandbox.store import Stored
from kubetypes.light_dataclasses import dataclass
from kubetypes.openapi import builtin_kinds
from kubetypes.openapi.documents import SchemaDefinitions
from kubetypes.openapi.schemas import REFERENCE, Definitions, Schema

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

# What a real API server has beyond these needs a kubelet, or does something other than keeping an object.
SERVED_SUBRESOURCES = frozenset({"status", "scale", "finalize", "eviction", "binding"})
DEPRECATED = {"endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}
EVENTS = frozenset({"events", "events.events.k8s.io"})
NOT_SERVED = frozenset({"bindings", "componentstatuses"})


@dataclass(frozen=True, slots=True)
class Subresource:
    """`status`, `scale` or another path below an object. `kind` is what goes in and out there (`Scale`).

    Without `verbs` it is one that a real API server has and the sandbox has not (`exec`).
    """

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]
    schema: Schema = field(default_factory=lambda: Schema({}), repr=False)

    @property
    def served(self) -> bool:
        """Whether the sandbox does it."""
        return bool(self.verbs)


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A resource in one version. An empty `verbs` means that a real API server serves it and the sandbox does not.

    `columns` are the table's columns as in a `Table`'s `columnDefinitions`, for custom kinds with their `jsonPath`.
    `definition` is the `spec` of the CustomResourceDefinition, None for built-in kinds. `stored` names the resource
    under which objects are kept, the same for all versions (`deployments.apps`). `since` is the revision from which on
    objects were written by this schema. `converted` remembers objects of other versions as a webhook has converted
    them to this one, as long as they are in the store.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    schema: Schema = field(default_factory=lambda: Schema({}))
    columns: tuple[dict[str, Any], ...] = ()
    definition: dict[str, Any] | None = None
    since: int = 0
    converted: WeakKeyDictionary[Stored, bytes] = field(default_factory=WeakKeyDictionary, repr=False)

    @property
    def api_version(self) -> str:
        """`v1`, `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def stored(self) -> str:
        """`pods`, `deployments.apps`: one name for all versions."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def kept(self) -> str:
        """The name under which its objects are kept: `stored`, but for Events, which two groups show."""
        return "events" if self.stored in EVENTS else self.stored

    @property
    def served(self) -> bool:
        """Whether the sandbox does it."""
        return bool(self.verbs)

    @property
    def custom(self) -> bool:
        """Whether a CustomResourceDefinition made it."""
        return self.definition is not None

    @property
    def webhook(self) -> dict[str, Any] | None:
        """Who converts objects of a custom kind (`spec.conversion.webhook`), None if that changes nothing but their
        `apiVersion`."""
        said = (self.definition or {}).get("conversion") or {}
        return said.get("webhook") if said.get("strategy") == "Webhook" else None

    @property
    def storage(self) -> str:
        """The version in which a custom kind's objects are stored if a webhook converts them."""
        return str(next(one["name"] for one in (self.definition or {})["versions"] if one["storage"]))

    @property
    def deprecation(self) -> str:
        """The warning for clients of a deprecated version; "" for others."""
        if not self.custom:
            return DEPRECATED.get(self.stored, "")
        versions = (self.definition or {}).get("versions", ())
        said: dict[str, Any] = next((one for one in versions if one["name"] == self.version), {})
        if not said.get("deprecated"):
            return ""
        return str(said.get("deprecationWarning") or f"{self.api_version} {self.kind} is deprecated")

    def resource(self, name: str = "", uid: str = "") -> About:
        """For refusals that name the resource (404, 409, 403)."""
        return About(self.group, self.plural, name, uid)

    def named(self, name: str) -> About:
        """For refusals that name the kind (422)."""
        return About(self.group, self.kind, name)


class Kinds:
    """All that is served at the moment. Built-in groups come first, in the order in which they were given."""

    def __init__(self, builtin: Iterable[Kind]) -> None:
        self._kinds = {(kind.group, kind.version, kind.plural): kind for kind in builtin}
        self._builtin = {(kind.group, kind.plural) for kind in self._kinds.values() if not kind.custom}
        self._index()

    def get(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind behind a path, None if it is not served."""
        return self._kinds.get((group, version, plural))

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds.values())

    def of_kind(self, api_version: str, kind: str) -> Kind | None:
        """The resource of a manifest's `apiVersion` and `kind`."""
        return self._of_kind.get((api_version, kind))

    def of_stored(self, stored: str) -> Kind | None:
        """Any version of what is kept under a name."""
        return self._of_stored.get(stored)

    def replace(self, group: str, plural: str, kinds: Iterable[Kind]) -> None:
        """A CustomResourceDefinition came, changed, or (no `kinds`) went. Built-in kinds stay what they are."""
        if (group, plural) in self._builtin:
            return
        for key in [key for key in self._kinds if key[0] == group and key[2] == plural]:
            del self._kinds[key]
        for kind in kinds:
            self._kinds[kind.group, kind.version, kind.plural] = kind
        self._index()

    def _index(self) -> None:
        # Backwards, so that of several the first is found.
        every = list(reversed(self._kinds.values()))
        self._of_kind = {(one.api_version, one.kind): one for one in every}
        self._of_stored = {one.stored: one for one in every}


@cache
def builtin() -> tuple[Kind, ...]:
    """The built-in kinds, in the API server's order. Their schemas are read on first use."""
    return tuple(
        kind
        for group in builtin_kinds.document()["groups"]
        for kind in _kinds_of(group["group"], group["version"], group)
    )


def _kinds_of(group: str, version: str, said: dict[str, Any]) -> Iterator[Kind]:
    definitions = SchemaDefinitions(group, version)
    for one in said["kinds"]:
        yield Kind(
            group=group,
            version=version,
            kind=one["kind"],
            plural=one["plural"],
            namespaced=one["namespaced"],
            singular=one["singular"],
            short_names=tuple(one["shortNames"]),
            categories=tuple(one["categories"]),
            verbs=() if one["plural"] in NOT_SERVED else tuple(one["verbs"]),
            subresources={name: _subresource(name, below, definitions) for name, below in one["subresources"].items()},
            schema=_defined(one["schema"], definitions),
            columns=tuple(one["columns"]),
        )


def _subresource(name: str, said: dict[str, Any], definitions: Definitions) -> Subresource:
    verbs = tuple(said["verbs"]) if name in SERVED_SUBRESOURCES else ()
    schema = _defined(said["schema"], definitions)
    return Subresource(name, said["group"], said["version"], said["kind"], verbs, schema)


def _defined(name: str, definitions: Definitions) -> Schema:
    return Schema({"$ref": REFERENCE + name} if name else {}, definitions)
