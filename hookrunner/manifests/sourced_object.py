"""Objects of manifests with the files that they come from: how texts become such objects, and Lists are taken apart.
All steps of a build take and return them.

Documents are split as Helm does. Each ends with one newline, which a block scalar at its end may show. Values mean what
they mean to Helm, so `hostNetwork: yes` is true; but a key is the text that was written: `n: 1` does not become
`"false": 1`. https://helm.sh/docs/topics/charts_hooks/ has the annotation of hooks.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hookrunner import redaction
from hookrunner.errors import BadManifest
from kubetypes.bounds import DOCUMENT, Tally
from kubetypes.json_values import JSON, with_integers
from kubetypes.yaml_values import YAML_1_1, BadDocument, documents

# fmt: off
INSTALL_ORDER = (
    "PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy",
    "PodDisruptionBudget", "ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass",
    "PersistentVolume", "PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleList",
    "ClusterRoleBinding", "ClusterRoleBindingList", "Role", "RoleList", "RoleBinding", "RoleBindingList", "Service",
    "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment", "HorizontalPodAutoscaler",
    "StatefulSet", "Job", "CronJob", "IngressClass", "Ingress", "APIService", "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)
# fmt: on
"""Kinds in the order in which Helm installs them; others come last, by name. Source: Helm's kind_sorter.go."""

HOOK = "helm.sh/hook"

_BETWEEN = re.compile(r"(?:\A|\n)---[\t\n\f\r ]*")
_RANK = {kind: rank for rank, kind in enumerate(INSTALL_ORDER)}


class VersionlessId(NamedTuple):
    """What makes an object the same one in every version of its API. `namespace` is "" without one."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """`Deployment kube-system/coredns`."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class SourcedObject:
    """An object and the path of its file: a template, a file of the package, or what has printed it.

    `obj` has texts as `apiVersion` and `kind`, and a mapping as `metadata`; do not change it.
    """

    path: str
    obj: dict[str, JSON]

    @property
    def api_version(self) -> str:
        """`v1`, `apps/v1`."""
        return str(self.obj["apiVersion"])

    @property
    def group(self) -> str:
        """The API group, "" for the core."""
        return self.api_version.rpartition("/")[0]

    @property
    def kind(self) -> str:
        """The kind."""
        return str(self.obj["kind"])

    @property
    def name(self) -> str:
        """`metadata.name`, "" without one."""
        return str(self.obj["metadata"].get("name") or "")

    @property
    def namespace(self) -> str:
        """`metadata.namespace`, "" without one."""
        return str(self.obj["metadata"].get("namespace") or "")

    @property
    def identity(self) -> VersionlessId:
        """What it is in every version of its API."""
        return VersionlessId(self.group, self.kind, self.namespace, self.name)

    @property
    def order(self) -> tuple[int, str]:
        """Sorts as Helm installs: known kinds in the order of `INSTALL_ORDER`, others after them by their name."""
        return (_RANK[self.kind], "") if self.kind in _RANK else (len(_RANK), self.kind)

    @property
    def hook(self) -> str | None:
        """Its events, if it is a Helm hook."""
        events: str | None = (self.obj["metadata"].get("annotations") or {}).get(HOOK)
        return events

    def __str__(self) -> str:
        """`Deployment kube-system/coredns (deployment.yaml)`, for messages."""
        return f"{self.identity} ({self.path})"

    def with_metadata(self, metadata: Mapping[str, JSON]) -> "SourcedObject":
        """The object with these keys of `metadata` set or replaced."""
        return SourcedObject(self.path, {**self.obj, "metadata": {**self.obj["metadata"], **metadata}})

    def labelled(self, labels: Mapping[str, str]) -> "SourcedObject":
        """The object with these labels added, or put in place of its own."""
        if not labels:
            return self
        return self.with_metadata({"labels": {**(self.obj["metadata"].get("labels") or {}), **labels}})


def read_objects(texts: Mapping[str, str]) -> tuple[SourcedObject, ...]:
    """The objects of all texts, sorted by path, Lists as they are. Raises BadManifest, naming path and document, for a
    document that is not an object with a name or a List."""
    tally = Tally(DOCUMENT)
    return tuple(source for path in sorted(texts) for source in _documents(path, texts[path], tally))


def split_lists(sources: Iterable[SourcedObject]) -> tuple[SourcedObject, ...]:
    """The objects, each List replaced by its items, which may leave out what follows from the List's kind. Raises
    BadManifest for an item that is no object with a name."""
    return tuple(item for source in sources for item in _split_list(source))


def _documents(path: str, text: str, tally: Tally) -> Iterator[SourcedObject]:
    parts = [f"{part.rstrip()}\n" for part in _BETWEEN.split(text.lstrip()) if part.strip()]
    for number, part in enumerate(parts, start=1):
        position = f"{path}, document {number}"
        try:
            values = list(documents(part.encode(errors="replace"), YAML_1_1, tally))
        except BadDocument as error:
            raise BadManifest(f"{position}: {error} (counted from the start of the document)") from None
        # Helm writes large numbers as `1e+06`: the API server accepts only 1000000 as an integer.
        yield from (
            SourcedObject(path, _checked(position, with_integers(value))) for value in values if value is not None
        )


def _checked(position: str, value: JSON) -> dict[str, JSON]:
    """Refuses what every API server refuses, because its template is known only here."""
    if not isinstance(value, dict):
        raise BadManifest(f"{position}: not an object but {redaction.described(value)}")
    lacking = [key for key in ("apiVersion", "kind") if not isinstance(value.get(key), str) or not value[key]]
    if lacking:
        raise BadManifest(f"{position}: an object needs {' and '.join(lacking)}")
    if _is_list(value):
        return {**value, "metadata": value["metadata"] if isinstance(value.get("metadata"), dict) else {}}
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        raise BadManifest(f"{position}: {value['kind']} has no metadata.name")
    for key in ("name", "namespace"):
        if not isinstance(metadata.get(key) or "", str):
            raise BadManifest(f"{position}: metadata.{key} of a {value['kind']} is no text; put it in quotes")
    for key in ("labels", "annotations"):
        if not isinstance(metadata.get(key) or {}, dict):
            raise BadManifest(f"{position}: {value['kind']} {metadata.get('name')}: metadata.{key} is not a mapping")
    return value


def _is_list(value: dict[str, JSON]) -> bool:
    return str(value["kind"]).endswith("List") and isinstance(value.get("items"), list)


def _split_list(source: SourcedObject) -> Iterator[SourcedObject]:
    if not _is_list(source.obj):
        yield source
        return
    kind = str(source.obj["kind"]).removesuffix("List")
    known = {"apiVersion": source.obj["apiVersion"], "kind": kind} if kind else {}
    for number, item in enumerate(source.obj["items"], start=1):
        whole = {**known, **item} if isinstance(item, dict) else item
        yield from _split_list(
            SourcedObject(source.path, _checked(f"{source.path}, item {number} of a {kind}List", whole))
        )
