"""What the Kubernetes API serves and how one object or a set of them is named.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/
"""

from dataclasses import dataclass
from typing import NamedTuple

from kubetypes.json_values import JSON as JSON
from kubetypes.json_values import written as written


class ObjectKey(NamedTuple):
    """An object inside one binding: namespace ("" for cluster-scoped kinds), kind and name.

    `str(key)` is `<namespace>/<Kind>/<name>`.
    """

    namespace: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.kind}/{self.name}"


def key_of(obj: JSON) -> ObjectKey:
    """The key of a complete API object."""
    metadata = obj["metadata"]
    return ObjectKey(metadata.get("namespace", ""), obj["kind"], metadata["name"])


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind in one version, as discovery describes it. `api_version` is `v1` or `group/version`."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The API group, empty for the core."""
        return self.api_version.rpartition("/")[0]

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """URL path below the server's root. An empty namespace means cluster-wide."""
        root = "/apis/" if "/" in self.api_version else "/api/"
        parts = [root + self.api_version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/".join(parts)


@dataclass(frozen=True, slots=True)
class Selection:
    """The objects that one watch is about. Equal selections share one watch.

    `kind` may be a kind, plural or short name in any case; an empty `api_version` means the preferred version.
    `labels` and `fields` are selector strings for the API server; an empty `namespace` means all. With `metadata_only`
    objects have `metadata` and nothing else (`PartialObjectMetadata`), unless an aggregated server cannot do so.
    """

    api_version: str
    kind: str
    namespace: str = ""
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False

    def __str__(self) -> str:
        name = f"{self.api_version}/{self.kind}" if self.api_version else self.kind
        only = "metadata only" * self.metadata_only
        parts = (f"namespace={self.namespace}" * bool(self.namespace), self.labels, self.fields, only)
        return " ".join([name, *filter(None, parts)])
