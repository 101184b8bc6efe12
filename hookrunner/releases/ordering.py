"""Which object is which, and what has to be there before what.

Helm sorts kinds into one long row (`InstallOrder`, https://helm.sh/docs/chart_template_guide/yaml_techniques/). Most of
that row is independent, so here it is a few stages, each of which can be written at once. Roles come before what binds
them: whoever is no cluster administrator may bind only what the API server can look up. Kinds that Helm does not know
are served by a CRD; they come before webhooks, which might refuse them while nobody answers there yet.
"""

from collections.abc import Iterable
from typing import NamedTuple

from hookrunner.errors import ReleaseFailed
from hookrunner.model.resources import JSON

CRD = "CustomResourceDefinition"

_STAGES = (
    "Namespace PriorityClass",
    f"{CRD} ServiceAccount Secret ConfigMap ResourceQuota LimitRange NetworkPolicy PodDisruptionBudget"
    " PodSecurityPolicy StorageClass PersistentVolume IngressClass RuntimeClass CSIDriver ClusterRole Role",
    "ClusterRoleBinding RoleBinding PersistentVolumeClaim Service",
    "DaemonSet Pod ReplicationController ReplicaSet Deployment HorizontalPodAutoscaler StatefulSet Job CronJob Ingress",
    "",
    "APIService MutatingWebhookConfiguration ValidatingWebhookConfiguration"
    " MutatingAdmissionPolicy MutatingAdmissionPolicyBinding"
    " ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
)
_PLACES = {kind: place for place, kinds in enumerate(_STAGES) for kind in kinds.split()}
_OTHERS = _STAGES.index("")


class Identity(NamedTuple):
    """A release. `str()` is `<namespace>/<name>`."""

    name: str
    namespace: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class ObjectId(NamedTuple):
    """An object of a release as its manifest names it; `namespace` is the release's if the manifest says nothing, also
    for kinds that have none."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def group(self) -> str:
        """The API group, empty for the core."""
        return self.api_version.rpartition("/")[0]

    @property
    def lasting(self) -> tuple[str, str, str, str]:
        """What stays the same when a chart moves to another version of the same API."""
        return (self.group, self.kind, self.namespace, self.name)

    def __str__(self) -> str:
        """`<namespace>/<Kind>/<name>`."""
        return f"{self.namespace}/{self.kind}/{self.name}"


def object_id(obj: JSON, identity: Identity) -> ObjectId:
    """Of an object in a manifest. Raises ReleaseFailed if it has no name: it could never be found again."""
    metadata = obj.get("metadata") or {}
    if not metadata.get("name"):
        raise ReleaseFailed(f"a {obj.get('kind') or 'document without kind'} has no metadata.name: give it one")
    return ObjectId(obj["apiVersion"], obj["kind"], metadata.get("namespace") or identity.namespace, metadata["name"])


def place(kind: str) -> int:
    """In which stage objects of this kind are written."""
    return _PLACES.get(kind, _OTHERS)


def stages(ids: Iterable[ObjectId]) -> list[list[ObjectId]]:
    """What to write one after another; what stands together may be written at once."""
    found: dict[int, list[ObjectId]] = {}
    for one in ids:
        found.setdefault(place(one.kind), []).append(one)
    return [found[number] for number in sorted(found)]
