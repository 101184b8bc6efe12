"""Objects of manifests with the files that they come from. All steps of a build take and return them."""

from collections.abc import Mapping
from typing import NamedTuple

from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

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
