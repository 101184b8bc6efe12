"""A module's objects in the cluster as a Helm release: what is wanted, what was rendered, what is known of it
(addon-operator.md §6, design.md §4.1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hookrunner.model.resources import JSON


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What templates see of the cluster. `api_versions` are `group/version` and `group/version/Kind`, sorted."""

    kube_version: str
    api_versions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """An order to render one chart. `directory` is the module's; `name` is the release's, and the synthetic chart's if
    there is no `Chart.yaml`. `values` has the keys `global` and the module's. `labels` go on every top-level object.
    `quotes`: errors may repeat values, as for authors at their own terminal."""

    directory: Path
    name: str
    namespace: str
    values: JSON
    capabilities: Capabilities
    install: bool = False
    revision: int = 1
    labels: Mapping[str, str] = field(default_factory=dict)
    quotes: bool = False


@dataclass(frozen=True, slots=True)
class HelmHook:
    """An object with a `helm.sh/hook` annotation. `path` is its template, `text` its YAML, `events` such as
    `pre-install`, `delete_policies` such as `before-hook-creation` (the default if there is none)."""

    name: str
    kind: str
    path: str
    text: str
    obj: JSON
    events: tuple[str, ...]
    weight: int = 0
    delete_policies: tuple[str, ...] = ("before-hook-creation",)


@dataclass(frozen=True, slots=True)
class RenderedChart:
    """What a chart became. `manifest` is the YAML that a release record keeps (with `# Source:` lines, in Helm's order
    of kinds), `objects` the same as JSON, lists taken apart. `chart` is what a record keeps of the chart, as JSON."""

    manifest: str
    objects: tuple[JSON, ...]
    hooks: tuple[HelmHook, ...]
    notes: str
    chart: JSON

    @property
    def everything(self) -> str:
        """The manifest, then Helm hooks and the notes, for people."""
        hooks = "".join(f"---\n# Source: {hook.path}\n{hook.text.strip()}\n" for hook in self.hooks)
        return f"{self.manifest}{hooks}" + (f"NOTES:\n{self.notes}\n" if self.notes else "")


@dataclass(frozen=True, slots=True)
class ReleaseOptions:
    """How a release is brought about. `timeout` (seconds) bounds each Helm hook and the waiting for readiness.

    `adopt` allows to take over objects that belong to no release, or to one that has no record any more;
    `adopt_orphans` only the latter. `wait` is for readiness by kstatus rules.
    `unmanaged` is the maintenance mode (§6.7): recorded on the release, whose objects are then left alone.
    """

    adopt: bool = False
    adopt_orphans: bool = False
    wait: bool = False
    timeout: float = 1200.0
    rollback_on_failure: bool = False
    unmanaged: bool = False


@dataclass(frozen=True, slots=True)
class DesiredRelease:
    """A release as it is to be. `digest` stands for everything that it was rendered from; `values` are recorded."""

    name: str
    namespace: str
    rendered: RenderedChart
    values: JSON
    digest: str
    options: ReleaseOptions = ReleaseOptions()


@dataclass(frozen=True, slots=True)
class Head:
    """The latest revision of a release, as its record's labels tell. `digest` is that of what it was made from, empty
    if somebody else wrote the record. `owned` says that we, or addon-operator, made it. `note` is `rolled-back` after a
    failed upgrade, `pinned` after `hookrunner module rollback`, else empty."""

    name: str
    namespace: str
    revision: int
    status: str
    digest: str = ""
    owned: bool = False
    unmanaged: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseResult:
    """A release is as it is wanted. `head` is its latest revision now, `changed` the objects that were written."""

    head: Head
    changed: int = 0


@dataclass(frozen=True, slots=True)
class Adoption:
    """An object (`<namespace>/<Kind>/<name>`) that a release has taken over. `owner` is the release that it belonged to
    and that has no record any more, empty if it belonged to none."""

    object: str
    owner: str = ""

    def __str__(self) -> str:
        return f"{self.object} (from {f'release {self.owner}' if self.owner else 'no release'})"


@dataclass(frozen=True, slots=True)
class DriftFinding:
    """An object of a release is not as it was applied: gone, or with other values in `fields` (JSON pointers)."""

    release: str
    namespace: str
    api_version: str
    kind: str
    name: str
    fields: tuple[str, ...] = ()

    @property
    def missing(self) -> bool:
        """Is the object gone?"""
        return not self.fields

    def __str__(self) -> str:
        """`<namespace>/<Kind>/<name>`, as the metric names it (§8.1)."""
        return f"{self.namespace}/{self.kind}/{self.name}"
