"""What kinds are called in rules, where no API server can be asked: those of Kubernetes, and those that definitions
among the files define.

    kinds = KindNames(definitions)
    kinds.find("apps/v1", "deploy").plural          # as users write them in bindings
    kinds.of_object(obj)                            # as manifests write them
"""

from collections.abc import Iterable

from hookrunner.errors import BadInput, ReleaseFailed
from hookrunner.model.resources import Resource, find_named
from hookrunner.releases.manifest_objects import resources
from hookrunner.testing.matching import plural
from kubetypes.json_values import JSON
from kubetypes.openapi import builtin_kinds


class KindNames:
    """The kinds that are known. `definitions` are those that were learned; `guessed` has the kinds that were asked for
    and are not known, whose names were guessed."""

    def __init__(self, definitions: Iterable[JSON] = ()) -> None:
        builtin = builtin_kinds.names().values()
        self._served = [
            Resource(kind.api_version, kind.kind, kind.plural, kind.namespaced, kind.short_names, ("get",))
            for kind in builtin
        ]
        self.guessed: set[str] = set()
        self.definitions: list[JSON] = []
        self.learn(definitions)

    def learn(self, definitions: Iterable[JSON]) -> None:
        """Know also the kinds that these objects define; what is no valid definition is left to the API server."""
        for definition in definitions:
            try:
                self._served += resources(definition)
                self.definitions.append(definition)
            except ReleaseFailed:
                continue

    def find(self, api_version: str, kind: str) -> Resource:
        """The kind of a binding: kind, plural or short name in any case, its version or none. Raises BadInput for an
        unknown one without a version, whose group cannot be known."""
        group = api_version.rpartition("/")[0]
        named = find_named(self._served, kind)
        if not api_version and named:
            return named[0]
        if of_group := [resource for resource in named if resource.group == group]:
            return of_group[0]
        if not api_version:
            raise BadInput(f"kind '{kind}' is not one of Kubernetes', and its group is unknown: state its apiVersion")
        return self._guess(api_version, kind, namespaced=True)

    def of_object(self, obj: JSON) -> Resource:
        """The kind of a manifest's object. One that is not known has namespaces if the object has one."""
        api_version, kind = str(obj["apiVersion"]), str(obj["kind"])
        group = api_version.rpartition("/")[0]
        known = (resource for resource in self._served if (resource.group, resource.kind) == (group, kind))
        return next(known, None) or self._guess(api_version, kind, "namespace" in obj["metadata"])

    def _guess(self, api_version: str, kind: str, namespaced: bool) -> Resource:
        name = plural({"apiVersion": api_version, "kind": kind}, ())
        if kind not in builtin_kinds.document()["served"].get(api_version, ()):  # whose plurals are all regular
            self.guessed.add(f"{kind} of {api_version} is taken for {name}")
        return Resource(api_version, kind, name, namespaced)
