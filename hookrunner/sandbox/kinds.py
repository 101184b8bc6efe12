"""What the sandbox serves: built-in kinds from the package's data, custom ones from CustomResourceDefinitions.

A `Kind` is one resource in one version. `Kinds` is all of them, changing as definitions come and go.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hookrunner.sandbox.schemas import Schema
from hookrunner.sandbox.status import About

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Subresource:
    """`status`, `scale` or another path below an object. `kind` is what goes in and out there (`Scale`)."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A resource in one version.

    `columns` are the table's columns as in a `Table`'s `columnDefinitions`, for custom kinds with their `jsonPath`.
    `definition` is the `spec` of the CustomResourceDefinition, None for built-in kinds. `stored` names the resource under
    which objects are kept, the same for all versions (`deployments.apps`).
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

    @property
    def api_version(self) -> str:
        """`v1`, `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def stored(self) -> str:
        """`pods`, `deployments.apps`: one name for all versions."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def custom(self) -> bool:
        """Whether a CustomResourceDefinition made it."""
        return self.definition is not None

    def resource(self, name: str = "", uid: str = "") -> About:
        """For refusals that name the resource (404, 409, 403)."""
        return About(self.group, self.plural, name, uid)

    def named(self, name: str) -> About:
        """For refusals that name the kind (422)."""
        return About(self.group, self.kind, name)


class Kinds:
    """All that is served at the moment. Built-in groups come first, in the order in which they were given."""

    def __init__(self, builtin: Iterable[Kind]) -> None:
        self._kinds: dict[tuple[str, str, str], Kind] = {}
        self._builtin = tuple(builtin)
        for kind in self._builtin:
            self._kinds[kind.group, kind.version, kind.plural] = kind

    def get(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind behind a path, None if there is none."""
        return self._kinds.get((group, version, plural))

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds.values())

    def of_kind(self, api_version: str, kind: str) -> Kind | None:
        """The resource of a manifest's `apiVersion` and `kind`."""
        return next((one for one in self if one.api_version == api_version and one.kind == kind), None)

    def of_stored(self, stored: str) -> Kind | None:
        """Any version of what is kept under a name."""
        return next((one for one in self if one.stored == stored), None)

    def replace(self, group: str, plural: str, kinds: Iterable[Kind]) -> None:
        """A CustomResourceDefinition came, changed, or (no `kinds`) went."""
        for key in [key for key in self._kinds if key[0] == group and key[2] == plural]:
            del self._kinds[key]
        for kind in kinds:
            self._kinds[kind.group, kind.version, kind.plural] = kind
