"""Plans the runs of an instance: gates, version, package, values, and how its release is rolled out.

Each run begins with a new plan, so that every trigger is the same: a request for a run. A plan that cannot be made says
why, for the status. States that a user or a source must change are not tried again by time, others with the back-off of
modules.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from hookrunner.addons.addon_values import AddonValues
from hookrunner.addons.gates.gates import GateVerdict
from hookrunner.addons.instance_build import BuildTools, InstanceBuild, PreparedBuild
from hookrunner.addons.status_conditions import obstacle_of
from hookrunner.convergence.plan import Fallback, Plan, WrittenObjects
from hookrunner.convergence.runs.seams import HeadReader
from hookrunner.convergence.seams import ServedNow
from hookrunner.errors import BadValues, RenderFailed, RunBlocked, RunPostponed
from hookrunner.instances.instance_rollbacks import GivenUp
from hookrunner.instances.package_choice import PackageChoice
from hookrunner.instances.removal import InstanceRemover, Removed
from hookrunner.metrics.names import Metrics
from hookrunner.model.addon_status import AddonObstacle
from hookrunner.model.addons import ADDON_LABEL, DISCOVERY_LABEL, FINALIZER, Addon, Instance
from hookrunner.model.releases import (
    NEVER_PRUNED,
    Capabilities,
    Head,
    ObjectMarks,
    OwnerReference,
    ReleaseOptions,
    ServiceAccount,
)
from hookrunner.model.unit_state import UnitState
from hookrunner.packages.package_fetcher import PackageFetcher
from hookrunner.packages.source_locations import PackageSource
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_PATIENCE, _NEXT_PATIENCE = 10.0, 60.0
"""Seconds for objects that are deleted to disappear, in the first attempt and in further ones. A namespace takes 6."""


@dataclass(frozen=True, slots=True)
class PlannerParts:
    """What plans are made with. `usual` are the options of all releases, which are in the namespace `home`.
    `admit` asks the gates, `open_source` gives the source of the addon of a name for a cluster of this version,
    `mark` gives an object our finalizer, `status_of` has a unit's status as it was written last, `health` watches what
    runs write."""

    tools: BuildTools
    metrics: Metrics
    releases: HeadReader
    home: str
    usual: ReleaseOptions
    capabilities: ServedNow
    fetcher: PackageFetcher
    remover: InstanceRemover
    mark: Callable[[Addon, Instance], Awaitable[None]]
    admit: Callable[[Instance, Addon, Capabilities], Awaitable[GateVerdict]]
    open_source: Callable[[str, str], PackageSource]
    status_of: Callable[[str], JSON]
    health: WrittenObjects


class InstancePlanner:
    """The planner of one instance (`convergence.plan.Planner`). `packages` chooses its package, and is closed when the
    unit is removed. `tried` is the generation of the spec with which the last run began, `installed` the head of its
    release then (`has_read_head`: it was looked at), `verdict` what the gates said, `prepared` what the last plan is
    about; `given_up` is the revision that turned out not to work."""

    def __init__(self, addon: Addon, values: AddonValues, instance: Instance, parts: PlannerParts) -> None:
        self.addon = addon
        self.instance = instance
        self.prepared: PreparedBuild | None = None
        self.installed: Head | None = None
        self.has_read_head = False
        self.tried = 0
        self.verdict = GateVerdict()
        self.given_up = GivenUp()
        self.packages = PackageChoice(addon, parts.fetcher, parts.open_source, parts.metrics)
        self._is_blocked = False
        self._orphaned = instance if instance.is_orphaned else None
        self._values = values
        self._parts = parts

    def update(self, instance: Instance) -> None:
        """The object has changed. That it was deleted with the policy Orphan is remembered: the finalizer that says so
        is gone within a second."""
        self.instance = instance
        if instance.is_orphaned:
            self._orphaned = instance

    async def plan(self, state: UnitState) -> Plan:
        """Pass the gates, find the version and its package, and put the values together. Raises RunBlocked and
        RunPostponed with the obstacle, KubeError."""
        instance, addon, parts = self.instance, self.addon, self._parts
        self.tried = instance.generation
        self.installed = await parts.releases.read_head(instance.unit, parts.home)
        self.has_read_head = True
        capabilities = await parts.capabilities.get()
        self.verdict = await parts.admit(instance, addon, capabilities)
        _require_open(self.verdict.obstacle)
        self.prepared = prepared = await self._prepare(instance, capabilities)
        return self._plan(prepared)

    def present(self, state: UnitState) -> Plan:
        """The plan for what the last run was about. Raises RenderFailed before the first run."""
        if self.prepared is None:
            raise RenderFailed(f"{self.instance.unit} is not built yet: {state.error or 'it has not run'}")
        return self._plan(self.prepared)

    async def uninstall(self, state: UnitState, head: Head) -> None:
        """Delete the objects in reverse order of their stages, or leave them without our marks. What blocks the first
        attempt is reported soon, further ones wait longer: to wait is to notice the end."""
        patience = _NEXT_PATIENCE if self._is_blocked else _PATIENCE
        self._is_blocked, self.installed = True, head
        options, remover = self.options(ReleaseOptions()), self._parts.remover
        options = replace(options, account=account_of(self.instance, head))
        removed = Removed(self.addon, self._orphaned or self.instance, head, self._is_replaced)
        await remover.remove(removed, options, patience)

    async def _prepare(self, instance: Instance, capabilities: Capabilities) -> PreparedBuild:
        """The package, with the values that hooks and templates see from here on."""
        addon, parts, installed = self.addon, self._parts, self.installed
        chosen = await self.packages.choose(instance, self._status, capabilities.kube_version, installed)
        if isinstance(chosen, AddonObstacle):
            raise _refusal(chosen)
        prepared = PreparedBuild(addon, instance, chosen, capabilities, installed.version if installed else "")
        _require_open(prepared.obstacle)
        try:
            prepared.describe(parts.tools.store, self._values)
        except BadValues as error:  # the spec: only an edit can correct it
            raise _refusal(obstacle_of(error)) from error
        if FINALIZER not in instance.finalizers:
            await parts.mark(addon, instance)
        return prepared

    def _plan(self, prepared: PreparedBuild) -> Plan:
        """What the user asks for, and the account, are of the instance that the run was prepared with: an edit
        meanwhile has a run of its own, with gates that look at its account."""
        given_up, account = self.given_up, prepared.instance.account
        return Plan(
            InstanceBuild(prepared, self._parts.tools),
            replace(self.options(self._parts.usual), account=account),
            replace(self.options(ReleaseOptions()), account=account),
            Fallback(self._last_healthy, self.instance.fields.rollback_on_failure, given_up.revision, given_up.reason),
            prepared.instance.asked,
            self.instance.unit,
            prepared.chosen.version.version,
            self._parts.health,
        )

    def options(self, usual: ReleaseOptions) -> ReleaseOptions:
        """Marks on each object, a dry run before anything is written, and what is never adopted, pruned or deleted."""
        return replace(
            usual,
            adopt=self.instance.fields.adopt,
            never_adopt=self.addon.never_adopts,
            delete_adopted=self.instance.fields.deletion_policy == "Delete",
            marks=marks_of(self.addon, self.instance),
            dry_run=True,
            respect_ignore=True,
            recreate_jobs=True,
            kept_kinds=NEVER_PRUNED,
            kept_revision=self._last_healthy,
            predecessor=self.verdict.predecessor,
            account=self.instance.account,
        )

    @property
    def _is_replaced(self) -> bool:
        """Does its object stay when what it has installed is removed?"""
        obstacle = self.verdict.obstacle
        return obstacle is not None and obstacle.removes and not self.instance.is_deleting

    @property
    def _status(self) -> JSON:
        """The status as it was written last: nothing is heard here of changes of the status alone."""
        return self._parts.status_of(self.instance.unit) or self.instance.status

    @property
    def _last_healthy(self) -> int:
        """The revision that was healthy last, 0 for none."""
        return int((self._status.get("lastHealthy") or {}).get("revision") or 0)


def account_of(instance: Instance, head: Head | None) -> ServiceAccount | None:
    """The account as which the objects of an instance are removed: without one in its spec that which has written them.
    Who removes the field gets no right to delete by that."""
    return instance.account or (head.account if head else None)


def marks_of(addon: Addon, instance: Instance) -> ObjectMarks:
    """What each object of an instance gets when it is written."""
    kind = addon.object
    owner = OwnerReference(kind.api_version, kind.kind, instance.name, instance.uid, instance.namespace)
    return ObjectMarks({ADDON_LABEL: instance.unit, f"{DISCOVERY_LABEL}{addon.name}": ""}, owner)


def _require_open(obstacle: AddonObstacle | None) -> None:
    if obstacle:
        raise _refusal(obstacle)


def _refusal(obstacle: AddonObstacle) -> RunBlocked | RunPostponed:
    return (RunPostponed if obstacle.progress == "reconciling" else RunBlocked)(obstacle.message, obstacle)
