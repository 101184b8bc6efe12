"""Addons and their instances as nouns (see docs/addons.md): the content of a directory with `addon.yaml`, and an object
of its kind.

An addon says what can be installed; an instance is what a user wants installed. At the end: the name under which an
instance has its queue, its release and its labels.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from hookrunner.model.releases import LONGEST_RELEASE, ServiceAccount
from hookrunner.model.resources import ObjectReference, Resource
from hookrunner.model.units import Drift
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

Scope = Literal["Namespaced", "Cluster"]
CrdOrigin = Literal["generated", "file", "external"]
Instances = Literal["one", "many"]
UpdatePolicy = Literal["automatic", "notify", "manual"]
DeletionPolicy = Literal["Delete", "Orphan"]
UnmatchedPatches = Literal["refuse", "warn"]
Downgrade = Literal["allow", "refuse"]
PatchMode = Literal["all", "listed", "none"]
AccountRule = Literal["allow", "require"]

CATEGORY = "cluster-addons"
"""What `kubectl get` takes for all instances of all addons."""

FINALIZER = "hookrunner.io/uninstall"
"""On an instance, from before its first release record until everything is removed."""

RECONCILE = "hookrunner.io/reconcile"
"""Annotation of an instance: a change of its text triggers a run, also after a rollback."""
ACCEPT_DIGEST = "hookrunner.io/accept-digest"
"""Annotation of an instance: the digest of a package that may replace another one of the same version."""
UNMANAGED = "hookrunner.io/unmanaged"
"""Annotation of an instance: with `true` it is no unit and gets no status, and what it has installed outlives it."""
REPLACES = "hookrunner.io/replaces"
"""Annotation of an instance: `ADDON/NAME` of the one of its `exclusive` word whose place it takes."""

ORPHAN = "orphan"
"""The finalizer by which the garbage collector leaves the dependents of an object
(https://kubernetes.io/docs/concepts/architecture/garbage-collection/#orphaned-dependents)."""

ADDON_LABEL = "hookrunner.io/addon"
"""On the objects of an instance and on its release records: the unit's name."""

PROTECTION = "hookrunner-protect."
"""With hookrunner's namespace behind it the policy that protects objects, and its binding."""

DISCOVERY_LABEL = "discovery.addons.k8s.io/"
"""With an addon's name behind it the label of a part of this addon, with any value. One object may have several."""


@dataclass(frozen=True, slots=True)
class AddonObject:
    """The kind that an addon offers, and where its definition comes from."""

    kind: str
    plural: str
    group: str = "addons.x-k8s.io"
    version: str = "v1alpha1"
    scope: Scope = "Namespaced"
    short_names: tuple[str, ...] = ()
    crd: CrdOrigin = "generated"

    @property
    def api_version(self) -> str:
        """`group/version`."""
        return f"{self.group}/{self.version}"

    @property
    def namespaced(self) -> bool:
        """Do instances have a namespace?"""
        return self.scope == "Namespaced"

    @property
    def crd_name(self) -> str:
        """The name of its CustomResourceDefinition."""
        return f"{self.plural}.{self.group}"

    def is_same_kind(self, other: "AddonObject") -> bool:
        """Could a cluster not have the definitions of both?"""
        same_kind = (self.group, self.kind.lower()) == (other.group, other.kind.lower())
        return same_kind or self.crd_name == other.crd_name

    @property
    def resource(self) -> Resource:
        """The kind as requests to the API server need it."""
        return Resource(self.api_version, self.kind, self.plural, self.namespaced, self.short_names)

    @property
    def instance_label(self) -> str:
        """The label of an instance's objects whose value is the instance's name."""
        return f"{self.group}/{self.kind.lower()}"


GENERIC_OBJECT = AddonObject("Generic", "generics")
"""The kind whose objects make other kinds addons (`addons/offer/generic_kinds.py`)."""


@dataclass(frozen=True, slots=True)
class RequiredObject:
    """An object that must exist and be ready; `namespace` "" for a kind without namespaces."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name} ({self.api_version})"


@dataclass(frozen=True, slots=True)
class Requirements:
    """What must hold before an instance runs. `kubernetes` is a range of versions; `modules` and `addons` are names,
    modules with a range of versions that may be empty; `kinds` are `group/version/Kind`."""

    kubernetes: str = ""
    kinds: tuple[str, ...] = ()
    modules: tuple[tuple[str, str], ...] = ()
    addons: tuple[str, ...] = ()
    objects: tuple[RequiredObject, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeLeftovers:
    """What an addon leaves on Nodes when its objects are deleted, each in the words of `addon.yaml`."""

    interfaces: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    def __str__(self) -> str:
        kinds = {"interfaces": self.interfaces, "files": self.files, "rules": self.rules}
        return "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A text in plain and kustomize packages that a value replaces. `value` is the path to it in the addon's values,
    with points; all lines of the value but the first are indented by `indent` spaces."""

    text: str
    value: str
    indent: int = 0


@dataclass(frozen=True, slots=True)
class PatchRule:
    """Paths that patches may change in objects of a kind, in all of them if `name` is empty. `manifests/field_paths.py`
    reads the paths."""

    kind: str
    paths: tuple[str, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class CommonFields:
    """The fields that `spec` has for every kind. `version` and `channel` are empty if they are not set, `timeout` is in
    seconds, `patches` are as they are written. `deletion_policy` is empty if it is not set: adopted objects stay then,
    others are deleted. `service_account_name` is the account as which everything is done with the objects, empty for
    hookrunner's own."""

    version: str = ""
    channel: str = ""
    patches: tuple[JSON, ...] = ()
    update_policy: UpdatePolicy = "automatic"
    rollback_on_failure: bool = False
    timeout: float = 600.0
    adopt: bool = False
    suspend: bool = False
    deletion_policy: DeletionPolicy | Literal[""] = ""
    protect: bool = False
    service_account_name: str = ""


@dataclass(frozen=True, slots=True)
class Addon:
    """A directory with `addon.yaml`. `name` is the directory's, `key` the same in values (camelCase), `root` the addons
    directory that it was found in.

    `component` is the name of its packages; `source` is where they are, as it is written: a relative path begins at
    `directory`. `defaults` are the common fields of an instance that sets none; with `never_adopts` an instance cannot
    set `adopt`. `leaves_on_nodes` is what a user who replaces it by another one has to clean. `post_render` are paths
    of executables in `directory`. `patches` is what instances may patch besides the common paths
    (`manifests/patch_policy.py`). `stamp` is another one after a change of a file that is read once.
    """

    name: str
    key: str
    directory: Path
    root: Path
    object: AddonObject
    description: str = ""
    component: str = ""
    source: str = "channels"
    instances: Instances = "one"
    exclusive: str = ""
    leaves_on_nodes: NodeLeftovers = field(default_factory=NodeLeftovers)
    requires: Requirements = field(default_factory=Requirements)
    text: tuple[Placeholder, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    post_render: tuple[str, ...] = ()
    application: bool = False
    patches: tuple[PatchRule, ...] = ()
    unmatched_patches: UnmatchedPatches = "refuse"
    downgrade: Downgrade = "allow"
    drift: Drift = "repair"
    never_adopts: bool = False
    defaults: CommonFields = field(default_factory=lambda: CommonFields(channel="stable"))
    stamp: str = ""

    @property
    def summary(self) -> Mapping[str, str]:
        """What lists show of it."""
        return {
            "name": self.name,
            "kind": self.object.kind,
            "group": self.object.group,
            "channel": self.defaults.channel,
            "instances": self.instances,
            "description": self.description,
        }


@dataclass(frozen=True, slots=True)
class RejectedAddon:
    """A directory that cannot be offered as an addon, and why. Nothing that it has installed is deleted."""

    name: str
    directory: Path
    problem: str

    @property
    def summary(self) -> Mapping[str, str]:
        """What lists show of it."""
        return {"name": self.name, "problem": self.problem}


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of an addon's kind. `document` is the whole object as the API server returned it or as a file has it.

    `fields` are the common fields with the addon's defaults filled in, `own` is the rest of `spec`. `problems` are
    what a definition with our schema would have refused; such fields have their defaults. `status` is the part of the
    last seen one that can be read; do not change it.
    """

    unit: str
    addon: str
    document: JSON
    fields: CommonFields = field(default_factory=CommonFields)
    own: Mapping[str, JSON] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    status: JSON = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.document["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The object's namespace, empty for a cluster-scoped kind."""
        return str(self.document["metadata"].get("namespace") or "")

    @property
    def labels(self) -> tuple[str, str, str]:
        """Addon, namespace and name, as labels of metrics."""
        return self.addon, self.namespace, self.name

    @property
    def uid(self) -> str:
        """The UID, empty in a file."""
        return str(self.document["metadata"].get("uid") or "")

    @property
    def generation(self) -> int:
        """How often the spec has changed, 0 in a file."""
        return int(self.document["metadata"].get("generation") or 0)

    @property
    def age_key(self) -> tuple[str, str]:
        """Sorts instances by age: the time of creation, then the UID."""
        return str(self.document["metadata"].get("creationTimestamp") or ""), self.uid

    @property
    def is_deleting(self) -> bool:
        """Has someone deleted it?"""
        return bool(self.document["metadata"].get("deletionTimestamp"))

    @property
    def is_orphaned(self) -> bool:
        """Has someone deleted it with the policy Orphan, and has the garbage collector not taken note of it yet?"""
        return self.is_deleting and ORPHAN in self.finalizers

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations; do not change them."""
        return self.document["metadata"].get("annotations") or {}

    @property
    def asked(self) -> JSON:
        """Everything by which a user may ask for another attempt to reach the same objects."""
        return [self.document.get("spec"), self.annotations.get(RECONCILE)]

    @property
    def replaces(self) -> str:
        """The text of the annotation that names the instance whose place it takes, empty without one."""
        return self.annotations.get(REPLACES) or ""

    @property
    def finalizers(self) -> tuple[str, ...]:
        """The finalizers."""
        return tuple(self.document["metadata"].get("finalizers") or ())

    @property
    def account(self) -> ServiceAccount | None:
        """The account as which everything is done with its objects; None for hookrunner's own."""
        name = self.fields.service_account_name
        return ServiceAccount(self.namespace, name) if name and self.namespace else None

    @property
    def is_unmanaged(self) -> bool:
        """Has its user asked to leave it alone?"""
        return is_left_alone(self.document["metadata"])


def is_left_alone(metadata: JSON) -> bool:
    """Has the user of an instance with this metadata asked to leave it alone?"""
    return (metadata.get("annotations") or {}).get(UNMANAGED) == "true"


_KEPT, _DIGITS = 42, 10
_LOOKS_CUT = re.compile(rf".*\.[0-9a-f]{{{_DIGITS}}}", re.DOTALL)


def unit_name(addon: str, namespace: str, name: str) -> str:
    """`<addon>.<namespace>.<name>`: the name of an instance's queue section, release and label value; a cluster-scoped
    instance has no namespace.

    Names beyond 53 characters are cut and get a part of their SHA-256, and so do those that look like a cut one. No two
    instances share one: neither addons nor namespaces have a point in their names, and an addon's scope is fixed. The
    kept part does not end in `.` or `-`, since Helm refuses such a name.
    """
    whole = ".".join(filter(None, (addon, namespace, name)))
    if len(whole) <= LONGEST_RELEASE and not _LOOKS_CUT.fullmatch(whole):
        return whole
    digest = hashlib.sha256(whole.encode()).hexdigest()
    return f"{whole[:_KEPT].rstrip('.-')}.{digest[:_DIGITS]}"


def reference_of(addon: Addon, instance: Instance) -> ObjectReference:
    """The object that Events of an instance are about."""
    kind = addon.object
    return ObjectReference(kind.api_version, kind.kind, instance.namespace, instance.name, instance.uid)
