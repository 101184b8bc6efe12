"""A module's objects in the cluster as a Helm release: the desired release, the rendered chart, the recorded state."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import NamedTuple

from hookrunner.model.resources import Resource
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

ROLLED_BACK, PINNED = "rolled-back", "pinned"
"""The notes of a head: restored after a failure, restored on request."""

HOME = "hookrunner.io/home"
"""A label: hookrunner's namespace. On release records in other namespaces, so that it finds them again, and on each
`Addon` that it writes."""

LONGEST_RELEASE = 53
"""What Helm takes: https://helm.sh/docs/helm/helm_install (release names are DNS-1123, and leave room for suffixes)."""
_RELEASE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def is_release_name(name: str) -> bool:
    """Does Helm take it as the name of a release?"""
    return len(name) <= LONGEST_RELEASE and _RELEASE.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What templates see of the cluster. `api_versions` are `group/version` and `group/version/Kind`, sorted."""

    kube_version: str
    api_versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """A request to render one chart. `directory` is the module's; `name` is the release's, and the synthetic chart's if
    there is no `Chart.yaml`. `values` has the keys `global` and the module's. `labels` go on every top-level object.
    `quotes`: errors may repeat values, as for authors at their own terminal. `user` is the one with whose rights
    templates look into the cluster, empty: hookrunner."""

    directory: Path
    name: str
    namespace: str
    values: JSON
    capabilities: Capabilities
    install: bool = False
    revision: int = 1
    labels: Mapping[str, str] = field(default_factory=dict)
    quotes: bool = False
    user: str = ""


@dataclass(frozen=True, slots=True)
class HelmHook:
    """An object with a `helm.sh/hook` annotation. `path` is its template, `text` its YAML, `events` such as
    `pre-install`, `delete_policies` such as `before-hook-creation` (the default)."""

    name: str
    kind: str
    path: str
    text: str
    obj: JSON
    events: tuple[str, ...]
    weight: int = 0
    delete_policies: tuple[str, ...] = ("before-hook-creation",)


@dataclass(frozen=True, slots=True)
class ReleaseInputs:
    """The digest of everything from which a release is made, and the values, as its record keeps them. With `looks_up`
    the result depends on objects in the cluster too, so that only the rendered manifest says whether it has changed.
    """

    digest: str
    values: JSON = field(compare=False)
    looks_up: bool = False


@dataclass(frozen=True, slots=True)
class RenderedChart:
    """The result of rendering a chart. `manifest` is the YAML that a release record keeps (with `# Source:` lines, in
    Helm's order of kinds), `objects` the same as JSON, lists taken apart. `chart` is what a record keeps of the chart,
    as JSON. `unpatched` as in `ReleaseOptions`; `unmatched` says of each patch without an object why it has none."""

    manifest: str
    objects: tuple[JSON, ...]
    hooks: tuple[HelmHook, ...]
    notes: str
    chart: JSON
    unpatched: Mapping[tuple[str, ...], JSON] = field(default_factory=dict)
    unmatched: tuple[str, ...] = ()

    @property
    def everything(self) -> str:
        """The manifest, then Helm hooks and the notes, for people."""
        hooks = "".join(f"---\n# Source: {hook.path}\n{hook.text.strip()}\n" for hook in self.hooks)
        return f"{self.manifest}{hooks}" + (f"NOTES:\n{self.notes}\n" if self.notes else "")


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """The object to which objects of a release belong, and its namespace, empty if it has none. It owns objects of its
    own namespace, or all objects if it has none
    (https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/)."""

    api_version: str
    kind: str
    name: str
    uid: str
    namespace: str = ""

    def is_same_object(self, reference: JSON) -> bool:
        """Does a reference of a live object name this owner, or an earlier object of its name, in any version?"""
        groups = {str(version).rpartition("/")[0] for version in (reference.get("apiVersion"), self.api_version)}
        return len(groups) == 1 and (reference.get("kind"), reference.get("name")) == (self.kind, self.name)


@dataclass(frozen=True, slots=True)
class ObjectMarks:
    """What each object of a release gets when it is written, and no manifest has: so a manifest stays the same when its
    owner is created again."""

    labels: Mapping[str, str] = field(default_factory=dict)
    owner: OwnerReference | None = None


NEVER_PRUNED = frozenset(
    {("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition"), ("", "PersistentVolumeClaim")}
)
"""Kinds (API group, kind) of which an addon's objects stay when they leave the manifest: others would be deleted with
them."""


class ServiceAccount(NamedTuple):
    """An account as which the objects of a release are read and written."""

    namespace: str
    name: str

    @property
    def user(self) -> str:
        """The name by which authorizers know it."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    def __str__(self) -> str:
        return f"ServiceAccount {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Predecessor:
    """The release of an addon in whose place another one is installed: its name, and how many such successions there
    have been with this one."""

    name: str
    succession: int


@dataclass(frozen=True, slots=True)
class ReleaseOptions:
    """How a release is rolled out. `timeout` (seconds) bounds each Helm hook and the waiting for readiness.

    `adopt` allows to adopt objects that belong to no release, or to one that has no record any more;
    `adopt_orphans` only the latter. `never_adopt`: an annotation of an object cannot allow it either.
    `wait` is for readiness by kstatus rules.
    `unmanaged` is the maintenance mode: it is recorded on the release, whose objects are then not changed.

    The rest is for releases of addons. `marks` go on every object. `dry_run`: nothing is written or recorded before the
    API server has accepted a dry run of every write. `respect_ignore`: a live object with the annotation
    `addons.k8s.io/ignore` is neither written nor deleted. `recreate_jobs`: a Job whose template changes is deleted and
    created. `kept_kinds` (API group, kind) are never pruned. `kept_revision` (0: none) is never dropped from the
    history. `delete_adopted`: an object that was adopted is deleted like others; otherwise it stays.
    `unpatched` are the objects that patches have changed, without the patches, by API group, kind, namespace (empty for
    kinds without) and name. `predecessor` is the release whose objects this one takes over; its records name it. As
    `account` its objects are read and written, as hookrunner itself without one; records always are hookrunner's own.
    """

    adopt: bool = False
    adopt_orphans: bool = False
    never_adopt: bool = False
    wait: bool = False
    timeout: float = 1200.0
    rollback_on_failure: bool = False
    unmanaged: bool = False
    marks: ObjectMarks = ObjectMarks()
    dry_run: bool = False
    respect_ignore: bool = False
    recreate_jobs: bool = False
    kept_kinds: frozenset[tuple[str, str]] = frozenset()
    kept_revision: int = 0
    delete_adopted: bool = False
    unpatched: Mapping[tuple[str, ...], JSON] = field(default_factory=dict)
    predecessor: Predecessor | None = None
    account: ServiceAccount | None = None

    @property
    def of_addon(self) -> bool:
        """Is it the release of an addon's instance, not of a module?"""
        return bool(self.marks.labels)

    def blames_patches(self, invalid: Iterable[str]) -> bool:
        """Has a patch changed one of these objects (`ReleaseFailed.invalid`)?"""
        patched = {"/".join(filter(None, (namespace, kind, name))) for _, kind, namespace, name in self.unpatched}
        return not patched.isdisjoint(invalid)

    def without_patches(self, resource: Resource, metadata: JSON) -> JSON:
        """An object that is sent as it is without patches, None if no patch has changed it."""
        key = (resource.group, resource.kind, metadata.get("namespace", ""), metadata["name"])
        return self.unpatched.get(key)


@dataclass(frozen=True, slots=True)
class DesiredRelease:
    """The desired state of a release. `digest` stands for everything from which it was rendered; `values` are
    recorded. `addon` and `version` go on the records of an addon's release; a module's has neither."""

    name: str
    namespace: str
    rendered: RenderedChart
    values: JSON
    digest: str
    options: ReleaseOptions = ReleaseOptions()
    addon: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """The latest revision of a release, by its record's labels. `digest` is that of its chart and values, empty if
    another client wrote the record. `owned` says that we, or addon-operator, made it. `note` is `rolled-back` after a
    failed upgrade, `pinned` after `hookrunner module rollback`, else empty. `addon` and `version` are those of an
    addon's release, empty for a module's. `predecessor` is the release beside which it was installed to take its place,
    empty for none, and `succession` counts such installations one after another. `account` is the one as which its
    objects were written, if any."""

    name: str
    namespace: str
    revision: int
    status: str
    digest: str = ""
    owned: bool = False
    unmanaged: bool = False
    note: str = ""
    addon: str = ""
    version: str = ""
    predecessor: str = ""
    succession: int = 0
    account: ServiceAccount | None = None

    @property
    def is_leaving(self) -> bool:
        """Has its removal begun?"""
        return self.status == "uninstalling"


@dataclass(frozen=True, slots=True)
class ReleaseResult:
    """A release in sync. `head` is its latest revision now, `changed` the number of objects that were written.
    `objects` are all that the revision has, None if it was not written. `undone` is why the attempt failed in whose
    place an earlier revision was restored, empty if none was."""

    head: Head
    changed: int = 0
    objects: tuple[JSON, ...] | None = None
    undone: str = ""


@dataclass(frozen=True, slots=True)
class DeployedRevision:
    """The objects of the deployed revision of a release, and its version: that of an addon's package, or of a module's
    chart."""

    objects: tuple[JSON, ...] = ()
    version: str = ""


@dataclass(frozen=True, slots=True)
class KeptObject:
    """An object (`<namespace>/<Kind>/<name>`) that stays in the cluster after it has left its release, and why.
    `adopted`: it existed before the release."""

    object: str
    reason: str
    adopted: bool = False

    def __str__(self) -> str:
        return f"{self.object}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Adoption:
    """An object (`<namespace>/<Kind>/<name>`) that a release has adopted. `owner` is its former release, which has no
    record any more, empty if it belonged to none."""

    object: str
    owner: str = ""

    def __str__(self) -> str:
        return f"{self.object} (from {f'release {self.owner}' if self.owner else 'no release'})"


@dataclass(slots=True)
class WriteNotes:
    """What a unit reports of objects that were written or have left its release. `faults` are what the API server does
    not know of each that was written, empty for nothing."""

    adopted: list[Adoption] = field(default_factory=list)
    kept: list[KeptObject] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ObjectDrift:
    """An object of a release that has drifted: it is missing, or has other values in `fields` (JSON pointers)."""

    release: str
    namespace: str
    api_version: str
    kind: str
    name: str
    fields: tuple[str, ...] = ()

    @property
    def missing(self) -> bool:
        """Is the object missing?"""
        return not self.fields

    def __str__(self) -> str:
        """`<namespace>/<Kind>/<name>`, as the metric names it."""
        return f"{self.namespace}/{self.kind}/{self.name}"
