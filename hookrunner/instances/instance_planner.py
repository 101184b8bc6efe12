"""The blueprint of an instance: gates, version, package, values, and the objects that they lead to.

`prepare` decides anew in each run whether the instance may run and with which package, so that every trigger is the
same: a request for a run. What closes a gate is kept for the status (`obstacle`). States that a user or a source must
change are not tried again by time, others with the back-off of modules.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

import orjson

from hookrunner import safe_files
from hookrunner.addons.addon_values import AddonValues
from hookrunner.addons.build_preparation import PreparedBuild
from hookrunner.addons.build_request import BuildRequest, BuildTerms, build_digest, looks_up, reads_capabilities
from hookrunner.addons.object_builder import ObjectBuilder
from hookrunner.addons.status_conditions import (
    hook_conditions_before,
    obstacle_of,
    unknown_fields_before,
    unmatched_before,
)
from hookrunner.addons.version_resolver import version_request
from hookrunner.charts.release_digests import attempt_digest
from hookrunner.convergence.plan import OwnBlueprint, ReleaseInputs
from hookrunner.errors import BadChart, BadValues, ReleaseFailed, RenderFailed, RunBlocked, RunPostponed
from hookrunner.hooks.condition_reports import ConditionReports
from hookrunner.hooks.workspace import InstanceInput
from hookrunner.instances.instance_rollbacks import GivenUp, asked_of, is_undone
from hookrunner.instances.package_choice import PackageChoice
from hookrunner.instances.removal import InstanceRemover
from hookrunner.kube.discovery import ClusterCapabilities
from hookrunner.manifests.sourced_object import VersionlessId
from hookrunner.metrics.addons import RunStep
from hookrunner.metrics.names import Metrics
from hookrunner.model.addon_status import AddonObstacle, AddonPhase, HookCondition
from hookrunner.model.addons import ADDON_LABEL, Addon, Instance
from hookrunner.model.bindings import label_of
from hookrunner.model.releases import (
    NEVER_PRUNED,
    Head,
    ObjectMarks,
    OwnerReference,
    ReleaseOptions,
    RenderedChart,
)
from hookrunner.packages.package_fetcher import PackageFetcher
from hookrunner.packages.source_locations import PackageSource
from hookrunner.releases.releases import Releases
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON

_LONGEST_PATH = 255
"""Characters of a hook's path: a longer one cannot be looked for everywhere."""
_PATIENCE, _NEXT_PATIENCE = 10.0, 60.0
"""Seconds for objects that are deleted to disappear, in the first attempt and in further ones. A namespace takes 6."""


@dataclass(frozen=True, slots=True)
class PatchEffects:
    """What the patches of the last build came to, as BuiltRelease has it. Other objects are not kept: many instances
    would hold as many manifests."""

    unmatched: tuple[str, ...]
    patched: Mapping[VersionlessId, JSON]


@dataclass(frozen=True, slots=True)
class BlueprintParts:
    """What blueprints are made with. `terms` are those of all builds. `find_obstacle` asks the gates, `open_source`
    gives the source of an addon's packages for a cluster of this version, `mark` gives an object our finalizer,
    `status_of` has a unit's status as it was written last. `on_report` is called with the unit when a hook reports
    something new."""

    store: SectionStore
    metrics: Metrics
    releases: Releases
    capabilities: ClusterCapabilities
    builder: ObjectBuilder
    fetcher: PackageFetcher
    terms: BuildTerms
    remover: InstanceRemover
    mark: Callable[[Addon, Instance], Awaitable[None]]
    find_obstacle: Callable[[Instance, Addon], Awaitable[AddonObstacle | None]]
    open_source: Callable[[Addon, str], PackageSource]
    status_of: Callable[[str], JSON]
    on_report: Callable[[str], None]


class InstanceBlueprint(OwnBlueprint):
    """One instance. `packages` chooses its package, and is closed when the unit is removed. `obstacle` is why its last
    run did not reach the objects, None if it did; `tried` is the generation of the spec with which that run began;
    `prepared` is what that run began with, `installed` the head of its release then (`has_read_head`: it was looked
    at), `settled` the head since its last run without an error."""

    def __init__(self, addon: Addon, values: AddonValues, instance: Instance, home: str, parts: BlueprintParts) -> None:
        self.addon = addon
        self.instance = instance
        self.obstacle: AddonObstacle | None = None
        self.prepared: PreparedBuild | None = None
        self.installed: Head | None = None
        self.has_read_head = False
        self.tried = 0
        self.settled: Head | None = None
        self.given_up = GivenUp()
        self._is_blocked = False
        self._orphaned = instance if instance.is_orphaned else None
        self.packages = PackageChoice(addon, parts.fetcher, parts.open_source, self.time_step)
        self._patching: PatchEffects | None = None
        self._unmatched = unmatched_before(instance.status)
        self._unknown_fields = unknown_fields_before(instance.status)
        self._reports = ConditionReports(_earlier_reports(addon, instance))
        self._values = values
        self._home = home
        self._parts = parts

    @property
    def reads_capabilities(self) -> bool:
        """May its objects depend on what the cluster serves? Before the first run that is not known."""
        if self.prepared is None:
            return True
        with suppress(BadChart):
            return reads_capabilities(self.prepared.package, self.prepared.chosen.directory)
        return False

    @property
    def version(self) -> str:
        """The version that the last run was prepared with, empty before the first."""
        return self.prepared.version.version if self.prepared else ""

    def update(self, instance: Instance) -> None:
        """The object has changed. That it was deleted with the policy Orphan is remembered: the finalizer that says so
        is gone within a second."""
        self.instance = instance
        if instance.is_orphaned:
            self._orphaned = instance

    async def prepare(self) -> None:
        """Pass the gates, find the version and its package, and put the values together. Raises RunBlocked,
        RunPostponed, KubeError."""
        instance, addon, parts = self.instance, self.addon, self._parts
        self._patching, self.tried = None, instance.generation
        self.installed = await parts.releases.read_head(instance.unit, self._home)
        self.has_read_head = True
        self._require_open(await parts.find_obstacle(instance, addon))
        capabilities, previous = await parts.capabilities.get(), self.installed.version if self.installed else ""
        request = version_request(addon, instance, capabilities.kube_version, previous)
        chosen = await self.packages.choose(instance, self._status, request, self.installed)
        if isinstance(chosen, AddonObstacle):
            raise self._refusal(chosen)
        prepared = PreparedBuild(addon, instance, chosen, capabilities, previous)
        self._require_open(prepared.obstacle)
        try:
            prepared.describe(parts.store, self._values)
        except BadValues as error:  # the spec: only an edit can mend it
            raise self._refusal(obstacle_of(error)) from error
        await parts.mark(addon, instance)
        self.prepared, self.obstacle = prepared, None

    def explain(self, error: Exception) -> None:
        """Keep why a run has failed, unless a gate or the package has said it already. Raises RunBlocked for a patch
        that does not fit: to try it again helps only when the instance, its package or a value changes."""
        if not isinstance(error, RunBlocked | RunPostponed):
            self.obstacle = obstacle_of(error, self._patched)
        if self.obstacle and self.obstacle.phase not in (AddonPhase.PENDING, AddonPhase.SUSPENDED):
            self._parts.metrics.addon_run_errors.inc(*self.instance.labels, self.obstacle.reason)
        if self.obstacle and self.obstacle.phase is AddonPhase.PATCH_FAILED:
            raise RunBlocked(str(error)) from error

    def time_step(self, step: RunStep) -> AbstractContextManager[None]:
        """Measure a step of a run."""
        return self._parts.metrics.time_addon_step(self.instance.labels, step)

    @property
    def hook_conditions(self) -> tuple[HookCondition, ...]:
        """What its hooks report of it, each condition once."""
        return self._reports.conditions

    @property
    def unmatched(self) -> tuple[str, ...]:
        """Patches without an object: those of what the last run has built, which may have been refused, or else those
        of what is installed, which an earlier process may have built."""
        return self._patching.unmatched if self._patching else self._unmatched

    @property
    def unknown_fields(self) -> tuple[str, ...]:
        """What the API server ignores of its objects."""
        return tuple(f"{name}: {text}" for name, text in sorted(self._unknown_fields.items()))

    def note_faults(self, written: Mapping[str, str], objects: Iterable[JSON] | None) -> None:
        """Keep what the API server ignores, until the object is written again or leaves the release."""
        known = {**self._unknown_fields, **written}
        if objects is not None:
            names = {f"{obj['kind']}/{obj['metadata'].get('name')}" for obj in objects}
            known = {name: text for name, text in known.items() if "/".join(name.split("/")[-2:]) in names}
        self._unknown_fields = {name: text for name, text in known.items() if text}

    def give(self) -> InstanceInput:
        """The instance as it is now, and the directory of the package that the last run has chosen."""
        directory = str(self.prepared.chosen.directory) if self.prepared else ""
        return InstanceInput(orjson.dumps(self.instance.document), directory)

    def report(self, hook: str, conditions: Sequence[HookCondition]) -> None:
        """Keep what a hook reports, until it runs again."""
        if self._reports.replace(label_of(hook, self.instance.unit), conditions):
            self._parts.on_report(self.instance.unit)

    async def read_inputs(self) -> ReleaseInputs:
        """The digest of package, patches, values and, if a template reads them, capabilities. Raises BadChart,
        RenderFailed."""
        chosen = self._ready.chosen
        return ReleaseInputs(build_digest(self._request()), looks_up(chosen.package, chosen.directory))

    async def render(self, is_first: bool) -> RenderedChart:
        """The objects of the prepared package. Raises BadChart, BadPatch, RenderFailed, KubeError, and RunBlocked if
        one of them needs a newer hookrunner."""
        with self.time_step("render"):
            built = await self._parts.builder.build(self._request(is_first))
        self._patching = PatchEffects(built.unmatched, built.patched)
        self._require_open(self._ready.refusal_of(built))
        return built.rendered

    async def preview(self, is_first: bool) -> RenderedChart:
        """The same for someone who looks: nothing of it is kept, measured or reported. Raises as `render`."""
        built = await self._parts.builder.build(self._request(is_first))
        if refusal := self._ready.refusal_of(built):
            raise RunBlocked(refusal.message)
        return built.rendered

    def options(self, usual: ReleaseOptions) -> ReleaseOptions:
        """Marks on each object, a dry run before anything is written, and what is never adopted, pruned or deleted."""
        return replace(
            usual,
            adopt=self.instance.fields.adopt,
            never_adopt=self.addon.never_adopts,
            delete_adopted=self.instance.fields.deletion_policy == "Delete",
            marks=self._marks,
            dry_run=True,
            respect_ignore=True,
            recreate_jobs=True,
            kept_kinds=NEVER_PRUNED,
            kept_revision=self._last_healthy,
            unpatched={(*changed,): obj for changed, obj in self._unpatched.items()},
        )

    def settle(self, head: Head) -> None:
        """Its release is at rest at this revision, which stands for what was built if it was not restored."""
        self.settled = head
        if not head.note:
            self._unmatched = self.unmatched

    def attempt_digest(self, digest: str) -> str:
        """That of the inputs and of everything by which a user may ask for another attempt: in the instance that the
        run was prepared with, for an edit meanwhile has a run of its own. Raises RenderFailed before the first run."""
        return attempt_digest(digest, asked_of(self._ready.instance))

    def target_after(self, error: ReleaseFailed, head: Head) -> int:
        """The last healthy revision, if an upgrade that was refused should be rolled back."""
        if not is_undone(self.instance, error, head, self._patched):
            return 0
        self.given_up.note(0, str(error))
        return self._last_healthy

    def target_instead(self, head: Head) -> int:
        """The last healthy revision, if this one was given up."""
        return self._last_healthy if head.revision == self.given_up.revision else 0

    async def uninstall(self, head: Head) -> None:
        """Delete the objects in reverse order of their stages, or leave them without our marks. What blocks the first
        attempt is reported soon, further ones wait longer: to wait is to notice the end."""
        patience = _NEXT_PATIENCE if self._is_blocked else _PATIENCE
        self._is_blocked = True
        options, remover = self.options(ReleaseOptions()), self._parts.remover
        await remover.remove(self._orphaned or self.instance, head, options, patience)

    @property
    def _ready(self) -> PreparedBuild:
        """Raises RenderFailed before the first run."""
        if self.prepared is None:
            raise RenderFailed(f"{self.instance.unit} is not built yet: {self.obstacle or 'it has not run'}")
        return self.prepared

    @property
    def _patched(self) -> list[str]:
        """The objects that patches have changed, as `ReleaseFailed.invalid` names objects."""
        return [_content_key(changed) for changed in self._unpatched]

    @property
    def _unpatched(self) -> Mapping[VersionlessId, JSON]:
        """These objects as they were before."""
        return self._patching.patched if self._patching else {}

    @property
    def _status(self) -> JSON:
        """The status as it was written last: a blueprint hears nothing of changes of the status alone."""
        return self._parts.status_of(self.instance.unit) or self.instance.status

    @property
    def _last_healthy(self) -> int:
        """The revision that was healthy last, 0 for none."""
        return int((self._status.get("lastHealthy") or {}).get("revision") or 0)

    @property
    def _marks(self) -> ObjectMarks:
        return marks_of(self.addon, self.instance)

    def _require_open(self, obstacle: AddonObstacle | None) -> None:
        if obstacle:
            raise self._refusal(obstacle)

    def _refusal(self, obstacle: AddonObstacle) -> RunBlocked | RunPostponed:
        self.obstacle = obstacle
        return (RunPostponed if obstacle.progress == "reconciling" else RunBlocked)(obstacle.message)

    def _request(self, is_first: bool = False) -> BuildRequest:
        return self._ready.request(self._parts.store, self._parts.terms, is_first)


def marks_of(addon: Addon, instance: Instance) -> ObjectMarks:
    """What each object of an instance gets when it is written."""
    kind = addon.object
    owner = OwnerReference(kind.api_version, kind.kind, instance.name, instance.uid, instance.namespace)
    return ObjectMarks({ADDON_LABEL: instance.unit, f"discovery.addons.k8s.io/{addon.name}": ""}, owner)


def _earlier_reports(addon: Addon, instance: Instance) -> list[HookCondition]:
    """What hooks have reported to an earlier process, without those that the addon has no more. Others may have written
    the status: it must not show which files exist elsewhere."""
    return [report for report in hook_conditions_before(instance.status) if _is_hook(addon, report.hook)]


def _is_hook(addon: Addon, path: str) -> bool:
    is_inside = path.startswith("hooks/") and ".." not in PurePosixPath(path).parts
    return is_inside and len(path) <= _LONGEST_PATH and safe_files.may_be_file(addon.directory / path)


def _content_key(changed: VersionlessId) -> str:
    """As `ReleaseFailed.invalid` names objects."""
    return "/".join(filter(None, (changed.namespace, changed.kind, changed.name)))
