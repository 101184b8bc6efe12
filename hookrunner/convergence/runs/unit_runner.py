"""The steps that bring a unit to ready. A step is done once; a retry continues with the step that failed."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from hookrunner import log
from hookrunner.charts.chart_files import read_crds
from hookrunner.convergence.plan import Plan, Planners
from hookrunner.convergence.runs.module_webhooks import KINDS
from hookrunner.convergence.runs.seams import Definitions, RunHooks, UnitReleases, UnitWebhooks
from hookrunner.engine.run_gate import MissingSnapshot
from hookrunner.errors import ReleaseFailed
from hookrunner.kube.discovery import ClusterCapabilities
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import BindingType, ReviewKind
from hookrunner.model.modules import Phase
from hookrunner.model.unit_state import UnitState
from hookrunner.releases.crds import Crds
from hookrunner.values.section_store import SectionStore
from kubetypes.light_dataclasses import dataclass

MOST_REPEATS = 5
"""So many times in a row a module's afterHelm hooks may change its values before it is set aside."""

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class UnitParts:
    """What runs and deletions of units work with."""

    hooks: RunHooks
    webhooks: UnitWebhooks
    releases: UnitReleases
    store: SectionStore


@dataclass(frozen=True, slots=True)
class UnitDefinitions:
    """Applies the CustomResourceDefinitions that modules have in `crds/`: once in each life of this process, before
    anything else of theirs, and again if they were deleted. All of them get `labels`; files whose names begin with one
    of `skipped` are left out."""

    crds: Crds
    capabilities: ClusterCapabilities
    labels: Mapping[str, str]
    skipped: tuple[str, ...]

    async def apply(self, state: UnitState) -> None:
        """Apply those of a module. Raises BadChart, ReleaseFailed, KubeError."""
        definitions = await asyncio.to_thread(read_crds, state.unit.directory, self.skipped)
        kinds = await self.crds.ensure(definitions, self.labels) if definitions else ()
        if definitions:
            self.capabilities.forget()
        state.set_definitions(kinds)


class UnitRunner:
    """Brings a unit to ready: its plan, its hooks, what they listen to, its release."""

    def __init__(self, parts: UnitParts, definitions: Definitions, planners: Planners, metrics: Metrics) -> None:
        self._hooks = parts.hooks
        self._webhooks = parts.webhooks
        self._releases = parts.releases
        self._store = parts.store
        self._definitions = definitions
        self._planners = planners
        self._metrics = metrics
        self._repeats = Counter[str]()
        self._first_steps: dict[Phase, Callable[[UnitState], Awaitable[Phase]]] = {
            Phase.STARTUP: self._start,
            Phase.ON_STARTUP_DONE: self._listen,
            Phase.QUEUE_SYNCHRONIZATION_TASKS: self._synchronize,
            Phase.WAIT_FOR_SYNCHRONIZATION: self._wait,
            Phase.ENABLE_SCHEDULE_BINDINGS: self._arm_schedules,
        }

    async def run(self, state: UnitState) -> None:
        """Bring the unit to ready. Raises the HookrunnerError that prevents it; MissingSnapshot while the values are
        not known. Modules are undecided then, but instances of addons run, and read global values."""
        if self._store.unread:
            raise MissingSnapshot(f"{state.name}: waiting for the values: {self._store.unread}")
        plan = await self._planners.of(state).plan(state)
        state.keep()
        self._store.begin_run(state.unit.section)
        if state.phase is Phase.READY:
            # They are disarmed if it was about to be deleted and was turned on again.
            self._hooks.arm_schedules(state)
            state.reach(Phase.CAN_RUN_HELM)
        while first_step := self._first_steps.get(state.phase):
            state.reach(await first_step(state))
        while state.phase is not Phase.READY:
            state.reach(await self._release(state, plan))
        state.become_ready()

    def forget(self, state: UnitState) -> None:
        """Drop what is remembered of a unit that will not come back."""
        self._repeats.pop(state.name, None)

    async def _start(self, state: UnitState) -> Phase:
        self._hooks.compiled.check(state)
        await self._hooks.load(state)
        await self._hooks.run(state, BindingType.ON_STARTUP)
        return Phase.ON_STARTUP_DONE

    async def _listen(self, state: UnitState) -> Phase:
        await self._webhooks.register(state, "conversion")
        listens = any(hook.config.kubernetes for hook in state.hooks)
        return Phase.QUEUE_SYNCHRONIZATION_TASKS if listens else Phase.ENABLE_SCHEDULE_BINDINGS

    async def _synchronize(self, state: UnitState) -> Phase:
        await self._hooks.synchronize(state)
        return Phase.WAIT_FOR_SYNCHRONIZATION

    async def _wait(self, state: UnitState) -> Phase:
        await self._hooks.wait_for_synchronizations(state)
        return Phase.ENABLE_SCHEDULE_BINDINGS

    async def _arm_schedules(self, state: UnitState) -> Phase:
        self._hooks.arm_schedules(state)
        return Phase.CAN_RUN_HELM

    async def _release(self, state: UnitState, plan: Plan) -> Phase:
        """The release, between the hooks before Helm and those after it. If the latter change values, all of it is done
        once more. What others change meanwhile comes with another request, whose run looks again."""
        if not state.has_definitions:
            await self._definitions.apply(state)
        reviews = frozenset[ReviewKind]().union(*(hook.config.reviews for hook in state.hooks))
        for kind in filter(reviews.__contains__, KINDS):
            await self._webhooks.register(state, kind)  # conversions too, if its deletion was called off
        with self._metrics.time_addon_step(state.unit.labels, "hooks"):
            await self._hooks.run(state, BindingType.BEFORE_HELM)
        if state.unit.installs:
            self._store.for_helm(state.unit.section)
            await self._releases.reconcile(state, plan)
        before = self._store.document(state.unit.section)
        await self._hooks.run(state, BindingType.AFTER_HELM)
        if self._store.document(state.unit.section) == before or state.requested != state.begun:
            self._repeats.pop(state.name, None)
            return Phase.READY
        self._count_repeat(state.name)
        _log.info("afterHelm hooks changed values, running once more", **state.unit.fields)
        return Phase.CAN_RUN_HELM

    def _count_repeat(self, name: str) -> None:
        """Raises ReleaseFailed if it happens too often."""
        self._repeats[name] += 1
        if self._repeats[name] > MOST_REPEATS:
            del self._repeats[name]
            raise ReleaseFailed(
                f"{name}: its afterHelm hooks have changed its values {MOST_REPEATS + 1} times in a row; "
                "let them change only what is not as they want it yet"
            )
