"""What the Kubernetes API serves and how one object or a set of them is named.

At the end hints for a kind that is not served (a removed version, a wrong group, another spelling): the same for a
cluster and for the kinds that are known without one.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_MOST_VERSIONS = 3
"""Versions that a hint names of one kind."""
_CLOSE = 0.85
"""`Deploymnt` is close to `Deployment`; the `Config` of kubectl is not close to `ConfigMap`."""


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
class ObjectReference:
    """One object, as Events name it; `namespace` is empty for a kind without namespaces, `uid` if it is not known
    (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-reference/)."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""

    @property
    def document(self) -> JSON:
        """As the API has it."""
        parts = {"kind": self.kind, "namespace": self.namespace, "name": self.name, "uid": self.uid}
        return {"apiVersion": self.api_version} | {key: value for key, value in parts.items() if value}

    def __str__(self) -> str:
        """For a person, such as `Flannel kube-system/default`."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Selection:
    """The objects that one watch is about. Equal selections share one watch.

    `kind` may be a kind, plural or short name in any case; an empty `api_version` means the preferred version.
    `labels` and `fields` are selector strings for the API server; an empty `namespace` means all. With `metadata_only`
    objects have `metadata` and nothing else (`PartialObjectMetadata`), unless an aggregated server cannot do so. While
    the server does not serve an `optional` kind, there are no objects of it.
    """

    api_version: str
    kind: str
    namespace: str = ""
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False
    optional: bool = False

    def __str__(self) -> str:
        name = f"{self.api_version}/{self.kind}" if self.api_version else self.kind
        only = "metadata only" * self.metadata_only
        parts = (f"namespace={self.namespace}" * bool(self.namespace), self.labels, self.fields, only)
        return " ".join([name, *filter(None, parts)])


def find_named(resources: Iterable[Resource], kind: str) -> list[Resource]:
    """Those with verbs whose kind, plural or short name is `kind` in any case, or their plural with the group behind it
    (`deployments.apps`, as `kubectl api-resources -o name` prints it)."""
    wanted = kind.lower()
    named = ((r, (*r.short_names, r.kind, r.plural, f"{r.plural}.{r.group}")) for r in resources)
    return [resource for resource, names in named if resource.verbs and wanted in map(str.lower, names)]


def hint_kind(api_version: str, kind: str, served: Sequence[Resource]) -> str:
    """What to write instead, such as `DaemonSet is served as apps/v1`; empty if that cannot be said.

    That another group has a kind of this name says something only where the group is one of Kubernetes' own, or is
    served: `Service` in `serving.knative.dev/v1` is not the Service of the core, but a definition that is missing.
    """
    group = api_version.rpartition("/")[0]
    candidates = find_named(served, kind)
    if here := [resource for resource in candidates if resource.api_version == api_version]:
        return f"write kind: {here[0].kind}"
    if same := [resource for resource in candidates if resource.group == group]:
        return _served_as(same)
    if api_version and not is_known_group(group, served):
        return ""
    return _served_as(candidates) if candidates else _near(api_version, kind, served)


def hint_other_group(api_version: str, kind: str, served: Sequence[Resource]) -> str:
    """A hint that another group has a kind of this name, where `hint_kind` does not know whether it is meant."""
    candidates = find_named(served, kind)
    return _served_as(candidates) if candidates and api_version else ""


def is_known_group(group: str, served: Iterable[Resource]) -> bool:
    """Is this a group of Kubernetes itself, as `extensions` was, or one that is served?"""
    return is_kubernetes_group(group) or any(resource.group == group for resource in served)


def is_kubernetes_group(group: str) -> bool:
    """Can no CustomResourceDefinition be of this group? Its own needs a dot in it."""
    return "." not in group


def _served_as(resources: Sequence[Resource]) -> str:
    versions = list(dict.fromkeys(resource.api_version for resource in resources))[:_MOST_VERSIONS]
    return f"{resources[0].kind} is served as {' and '.join(versions)}"


def _near(api_version: str, kind: str, served: Sequence[Resource]) -> str:
    """A hint with the most similar kind of this version, or else of all."""
    if kind.endswith("List"):
        return ""
    here = [resource for resource in served if resource.verbs and resource.api_version == api_version]
    spelled = {resource.kind.lower(): resource for resource in [*here, *served] if resource.verbs}
    for among in ([resource.kind.lower() for resource in here], list(spelled)):
        if near := get_close_matches(kind.lower(), among, n=1, cutoff=_CLOSE):
            nearest = spelled[near[0]]
            version = "" if nearest.api_version == api_version else f" in {nearest.api_version}"
            return f"did you mean {nearest.kind}{version}?"
    return ""
