"""The objects of a manifest: identity, order, the resource through which each is written, and what makes a live object
ours: Helm's marks, and the fields that `helm` has set.

Helm sorts kinds into one long list (`InstallOrder`, https://helm.sh/docs/chart_template_guide/yaml_techniques/). Most
of it is independent, so here it is a few stages, each of which can be written at once. Roles come before their
bindings: a client that is no cluster administrator may bind only roles that the API server can look up. Kinds that Helm
does not know are served by a CRD; they come before webhooks, which might refuse them while no server answers there yet.

Sources: https://helm.sh/docs/topics/charts_hooks/ and, for `to_applied`, client-go's package `util/csaupgrade`, which
does the same for `kubectl apply --server-side`.
"""

import base64
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import orjson

from hookrunner.errors import ReleaseFailed, UnknownKind
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.resources import Resource, Selection
from kubetypes.field_sets import union
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
        """`<namespace>/<Kind>/<name>`, without a namespace `<Kind>/<name>`."""
        return "/".join(filter(None, (self.namespace, self.kind, self.name)))


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
            if defined := self._defined.get((api_version, kind)):
                return defined
            raise

    async def resolve_ref(self, target: "ObjectId") -> ObjectRef:
        """Where requests about an object go. Raises as `resolve`."""
        resource = await self.resolve(target.api_version, target.kind)
        return ObjectRef(resource, target.namespace, target.name)

    def renew(self, crd: JSON) -> None:
        """The server serves this definition since just now: drop cached kinds of its versions, which may lack it."""
        for resource in resources(crd):
            self._discovery.renew(resource.api_version)

    async def read_scopes(self, kinds: Iterable[tuple[str, str]]) -> dict[tuple[str, str], bool]:
        """Which of these kinds (apiVersion, kind) have namespaces. Raises UnknownKind with all that the server does not
        know, or another KubeError if it cannot be asked."""
        scopes, unknown = dict[tuple[str, str], bool](), list[str]()
        for kind in kinds:
            try:
                scopes[kind] = (await self.resolve(*kind)).namespaced
            except UnknownKind as error:
                unknown.append(str(error))
        if unknown:
            raise UnknownKind("; ".join(unknown))
        return scopes

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


MANAGER = "helm"
"""The field manager of everything that we apply, as for Helm and addon-operator."""

RELEASE_NAME = "meta.helm.sh/release-name"
RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"
MANAGED_BY = {"app.kubernetes.io/managed-by": "Helm"}
MANAGED = ",".join(f"{name}={value}" for name, value in MANAGED_BY.items())
"""A selector of the objects of all releases."""

POLICY = "helm.sh/resource-policy"

ADOPT = "hookrunner.io/adopt"
"""On an object in a template, "true": adopt it if it exists already and belongs to no release, or to one without a
record."""

RECREATE = "hookrunner.io/recreate"
"""On an object in a template, "true": delete and create it if an immutable field changes."""


def managed(api_version: str, kind: str) -> Selection:
    """The objects of all releases of a kind, for a watch."""
    return Selection(api_version, kind, labels=MANAGED)


def owned(obj: JSON, resource: Resource, identity: ReleaseId) -> JSON:
    """The object of a manifest as it is sent: with the marks of its release, and with its namespace."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "namespace"}
    if resource.namespaced:
        metadata["namespace"] = obj["metadata"].get("namespace") or identity.namespace
    marks = {RELEASE_NAME: identity.name, RELEASE_NAMESPACE: identity.namespace}
    metadata["labels"] = (metadata.get("labels") or {}) | MANAGED_BY
    metadata["annotations"] = (metadata.get("annotations") or {}) | marks
    return plain(obj) | {"metadata": metadata}


def plain(obj: JSON) -> JSON:
    """The object as the server stores it: `stringData` of a Secret becomes `data`. An apply would own the former, and
    keys that are removed from it would stay in the latter."""
    texts = obj.get("stringData")
    if (
        obj.get("kind") != "Secret"
        or not isinstance(texts, dict)
        or not all(isinstance(v, str) for v in texts.values())
    ):
        return obj
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    rest = {key: value for key, value in obj.items() if key != "stringData"}
    return rest | {"data": (obj.get("data") or {}) | data}


def owner_of(metadata: JSON) -> ReleaseId | None:
    """The release to which a live object belongs, None without one."""
    annotations = metadata.get("annotations") or {}
    name = annotations.get(RELEASE_NAME)
    return ReleaseId(name, annotations.get(RELEASE_NAMESPACE, "")) if name else None


def was_written(metadata: JSON) -> bool:
    """Has a release ever written the live object? A manifest does not say so: an attempt that failed because the object
    is not ours has it, too."""
    return any(entry.get("manager") == MANAGER for entry in metadata.get("managedFields") or ())


NAMESPACE = ("", "Namespace")
"""The API group and the kind."""
NAMESPACES = Resource("v1", "Namespace", "namespaces", False)


def named_verbs(obj: JSON, kept_kinds: Collection[tuple[str, str]]) -> tuple[str, ...]:
    """What a release does with an object of its manifest by its name, as verbs; before, it creates it. One that stays,
    by its annotation or because its kind (API group, kind) is kept, is only deleted to be created again when an
    immutable field changes. Jobs of addons are."""
    is_kept = must_stay(obj["metadata"]) or (obj["apiVersion"].rpartition("/")[0], obj["kind"]) in kept_kinds
    may_be_recreated = is_marked(obj["metadata"], RECREATE) or obj["kind"] == "Job"
    return ("get", "patch") if is_kept and not may_be_recreated else ("get", "patch", "delete")


def is_marked(metadata: JSON, annotation: str) -> bool:
    """Is this annotation "true"?"""
    return str((metadata.get("annotations") or {}).get(annotation)).lower() == "true"


def must_stay(metadata: JSON) -> bool:
    """Must the object stay when its release is deleted (https://helm.sh/docs/howto/charts_tips_and_tricks/)?"""
    return str((metadata.get("annotations") or {}).get(POLICY)).strip().lower() == "keep"


def to_applied(entries: list[JSON], last: JSON | None) -> list[JSON] | None:
    """`managedFields` with the fields that `helm` created or updated turned into applied ones; None if they are
    already.

    Without this, a field set by such a write would stay forever: an apply removes only applied fields. But for an
    update the server also counts the defaults that it filled in, and the next apply would remove them and everything
    that others have set below them. So only fields of our `last` manifest are turned, if it is known.
    """
    written = [entry for entry in entries if _is_ours(entry, "Update")]
    if not written:
        return None
    applied = next((entry for entry in entries if _is_ours(entry, "Apply")), written[0])
    same = [entry for entry in written if entry["apiVersion"] == applied["apiVersion"]]
    fields = applied["fieldsV1"] if applied["operation"] == "Apply" else {}
    for entry in same:
        fields = union(fields, entry["fieldsV1"] if last is None else _owned_fields(entry["fieldsV1"], last))
    others = [entry for entry in entries if not _is_ours(entry, "Update") and not _is_ours(entry, "Apply")]
    return [applied | {"operation": "Apply", "fieldsV1": fields}, *others]


def has_no_foreign_fields(metadata: JSON) -> bool:
    """Has no other client set fields of a live object, apart from its status?"""
    entries = metadata.get("managedFields") or ()
    return all(entry["manager"] == MANAGER or entry.get("subresource") == "status" for entry in entries)


def _is_ours(entry: JSON, operation: str) -> bool:
    ours = entry["manager"] == MANAGER and entry["operation"] == operation
    return ours and not entry.get("subresource") and "fieldsV1" in entry


def _owned_fields(fields: JSON, value: JSON) -> JSON:
    """The fields of a set that the value has, as an apply of it would own them: a map or a list with owned parts is not
    owned itself (`.`) (FieldsV1, https://kubernetes.io/docs/reference/using-api/server-side-apply/)."""
    kept: dict[str, JSON] = {}
    for key, below in fields.items():
        if key == ".":
            kept[key] = below
        elif parts := list(_part(value, key)):
            left = _owned_fields(below, parts[0])
            whole = not below.keys() - {"."}
            if key.startswith("f:"):
                left.pop(".", None)
            if left or whole:
                kept[key] = left
    return kept


def _part(value: JSON, key: str) -> Iterator[JSON]:
    """The part of a value at a key of FieldsV1, if the value has it."""
    how, _, what = key.partition(":")
    if how == "f" and isinstance(value, dict):
        yield from [value[what]] if what in value else []
    elif how != "f" and isinstance(value, list):
        wanted = orjson.loads(what)
        yield from (
            matching_items(value, wanted) if how == "k" else [item for item in value if item == wanted or how == "i"]
        )


def matching_items(items: list[JSON], wanted: JSON) -> Iterator[JSON]:
    """The items of a list with these keys. Keys that an item lacks were filled in by the server."""
    for item in items:
        if not isinstance(item, dict) or not item.keys() & wanted.keys():
            continue
        if all(item.get(key, value) == value for key, value in wanted.items()):
            yield item
