"""The objects of a manifest: their identity, their order, and the resource through which each is written.

Helm sorts kinds into one long list (`InstallOrder`, https://helm.sh/docs/chart_template_guide/yaml_techniques/). Most
of it is independent, so here it is a few stages, each of which can be written at once. Roles come before their
bindings: a client that is no cluster administrator may bind only roles that the API server can look up. Kinds that Helm
does not know are served by a CRD; they come before webhooks, which might refuse them while no server answers there yet.
"""

from collections.abc import Iterable
from typing import NamedTuple

from hookrunner.errors import ReleaseFailed, UnknownKind
from hookrunner.kube.discovery import Discovery
from hookrunner.model.resources import Resource
from kubetypes.json_values import JSON

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
_PLACES = {kind: stage_of for stage_of, kinds in enumerate(_STAGES) for kind in kinds.split()}
_OTHERS = _STAGES.index("")


class ReleaseId(NamedTuple):
    """A release. `str()` is `<namespace>/<name>`."""

    name: str
    namespace: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class ObjectId(NamedTuple):
    """An object of a release as its manifest names it; `namespace` is the release's if the manifest has none, also for
    kinds without namespaces."""

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
        """The identity that stays when a chart moves to another version of the same API."""
        return (self.group, self.kind, self.namespace, self.name)

    def __str__(self) -> str:
        """`<namespace>/<Kind>/<name>`."""
        return f"{self.namespace}/{self.kind}/{self.name}"


def object_id(obj: JSON, identity: ReleaseId) -> ObjectId:
    """The identity of an object in a manifest. Raises ReleaseFailed if it has no name: it could never be found
    again."""
    metadata = obj.get("metadata") or {}
    if not metadata.get("name"):
        raise ReleaseFailed(f"a {obj.get('kind') or 'document without kind'} has no metadata.name: give it one")
    return ObjectId(obj["apiVersion"], obj["kind"], metadata.get("namespace") or identity.namespace, metadata["name"])


def stage_of(kind: str) -> int:
    """The index of the stage in which objects of this kind are written."""
    return _PLACES.get(kind, _OTHERS)


def stages(ids: Iterable[ObjectId]) -> list[list[ObjectId]]:
    """The stages to write one after another; objects of a stage may be written at once."""
    by_stage: dict[int, list[ObjectId]] = {}
    for target in ids:
        by_stage.setdefault(stage_of(target.kind), []).append(target)
    return [by_stage[number] for number in sorted(by_stage)]


_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")


class KindResolver:
    """Resolves the kinds of one cluster. Kinds that releases define are known from their CRDs: the API server's own
    list of kinds may be behind, and so may our cache of it."""

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery
        self._defined: dict[tuple[str, str], Resource] = {}

    def learn(self, objects: Iterable[JSON]) -> None:
        """Remember the kinds that the CRDs among the objects define. Raises ReleaseFailed if a CRD is invalid."""
        for obj in objects:
            if obj.get("kind") == CRD:
                self._defined |= {(resource.api_version, resource.kind): resource for resource in resources(obj)}

    async def resolve(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind in a manifest. Raises UnknownKind, or another KubeError if the server cannot be
        asked."""
        try:
            return await self._discovery.resolve(api_version, kind, exact=True)
        except UnknownKind:
            if found := self._defined.get((api_version, kind)):
                return found
            raise

    def forget(self, api_version: str) -> None:
        """Drop cached kinds of this version, because the server answered 404: the next time it is asked again."""
        self._discovery.forget(api_version)


def resources(crd: JSON) -> list[Resource]:
    """The resources that a CRD defines, one for each served version. Raises ReleaseFailed if it is invalid."""
    try:
        spec = crd["spec"]
        names, namespaced = spec["names"], spec.get("scope") == "Namespaced"
        versions = [version["name"] for version in spec["versions"] if version.get("served")]
        return [
            Resource(f"{spec['group']}/{version}", names["kind"], names["plural"], namespaced, verbs=_VERBS)
            for version in versions
        ]
    except (LookupError, TypeError, AttributeError):
        raise ReleaseFailed(
            f"CustomResourceDefinition {(crd.get('metadata') or {}).get('name')}: it needs spec.group, "
            "spec.names.{kind, plural} and spec.versions[].name; see `kubectl explain crd.spec`"
        ) from None
