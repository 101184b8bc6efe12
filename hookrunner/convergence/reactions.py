"""What happens to modules between rounds: the configuration changes, hooks change values, objects drift, other clients
write records, the cluster serves something new."""

from collections.abc import AsyncIterator, Callable, Sequence

from hookrunner import log
from hookrunner.convergence.events import Notice
from hookrunner.convergence.seams import EditDecisions, Rounds, RunRequests, ServedKinds, WatchedReleases
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.engine.hook_executor import ValuesChanged
from hookrunner.engine.run_gate import MissingSnapshot
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import GLOBAL
from hookrunner.model.releases import ObjectDrift
from hookrunner.model.unit_state import UnitState
from hookrunner.model.units import MODULE, is_unit_of_addon
from hookrunner.waits import Batches, Notifier
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)

_CAUSES = {
    BindingType.KUBERNETES: "Kubernetes",
    BindingType.SCHEDULE: "Schedule",
    BindingType.VALIDATING: "Webhook",
    BindingType.MUTATING: "Webhook",
    BindingType.CONVERSION: "Webhook",
}
"""Bindings after which changed values cause a run; after the others the modules run anyway."""

_AT_ONCE, _WITHIN = 3, 1.5
"""So many rounds for edits in so many seconds, and so many questions to scripts. Runs of units have a pace of their own
(`runs/unit_tasks.py`)."""


@dataclass(frozen=True, slots=True)
class UnitRequests:
    """The three ways to have modules run: all of them in a round, some in their turns, one at once."""

    states: UnitStates
    converge: Rounds
    give_turns: Callable[[Sequence[UnitState], str], None]
    tasks: RunRequests


class ConfigReactions:
    """Reacts to edits of the ConfigMap and the Secret, and to hooks that change values or flags. Each `follow_…` runs
    until cancelled. `prewarm` starts the render worker ahead of runs."""

    def __init__(self, requests: UnitRequests, decisions: EditDecisions, prewarm: Callable[[], None]) -> None:
        self._states = requests.states
        self._requests = requests
        self._decisions = decisions
        self._configuration = decisions.configuration
        self._prewarm = prewarm
        self._decisive = Batches[str](_AT_ONCE, _WITHIN)
        self._scripted = Batches[str](_AT_ONCE, _WITHIN)
        self._causes: dict[str, str] = {}

    async def follow_config(self, contents: AsyncIterator[object]) -> None:
        """Have edits adopted, of what is in one of the two objects that users write, or that it is missing for longer
        than its grace; run what was edited: one module, or all of them for a global value or a flag. `contents` yields
        at each edit."""
        async for _ in contents:
            await self._configuration.read_ahead()
            edit = self._configuration.adopt()
            if edit.is_first:
                self._requests.converge.wake_hooks()
            if edit.changed and self._requests.converge.converged.is_set():
                self._prewarm()
            if edit.is_decisive or GLOBAL in edit.changed:
                self._decisive.add({GLOBAL})
            elif edited := [state for state in self._states.modules if state.unit.key in edit.changed]:
                cause = "KubeConfig-Changed-Modules"
                due = [state for state in edited if not self._ask_script_first(state, cause)]
                self._requests.give_turns(due, cause)

    async def follow_decisive_edits(self) -> None:
        """Request rounds for edits that concern all modules."""
        while True:
            await self._decisive.next_batch()
            self._requests.converge.request("KubeConfig-Changed", at_once=True)

    async def follow_scripts(self) -> None:
        """Ask the `enabled` scripts of modules whose own config has changed, then run those that stay on. Other modules
        do not wait for a script that hangs."""
        while True:
            keys = await self._scripted.next_batch()
            for state in [state for state in self._states.modules if state.unit.key in keys]:
                cause = self._causes.pop(state.unit.key, "")
                if await self._decisions.contradicts(state):
                    self._requests.converge.request("KubeConfig-Changed", at_once=True)
                elif cause:
                    self._requests.give_turns([state], cause)

    def _ask_script_first(self, state: UnitState, cause: str) -> bool:
        """Must the module's `enabled` script be asked before it runs? Then it is, and the module runs afterwards if
        there is a cause for that: values that turn a module off must not be applied before."""
        if not state.unit.has_script:  # most have none
            return False
        key = state.unit.key
        outdated = self._decisions.is_outdated(state)
        if outdated:
            self._causes[key] = cause or self._causes.get(key, "")
            self._scripted.add({key})
        return outdated

    async def follow_flags(self, flagged: Notifier) -> None:
        """Request a round when global hooks turn modules on or off. In the start that is decided later anyway."""
        while True:
            await flagged.next()
            if self._requests.converge.has_decided and self._configuration.has_changed_flags():
                self._requests.converge.request("ReloadAll-After-GlobalHookDynamicUpdate", at_once=True)

    async def follow_values(self, changes: AsyncIterator[ValuesChanged]) -> None:
        """Run modules whose values were changed by hooks, or all for global values."""
        async for change in changes:
            self._react_to_values(change)

    def _react_to_values(self, change: ValuesChanged) -> None:
        order = change.order
        cause = "" if order.synchronizes else _CAUSES.get(order.binding_type, "")
        if order.module == GLOBAL:
            if cause:
                self._requests.converge.request(f"{cause}-Change-GlobalValues", at_once=False)
        elif state := self._states.get(order.module):
            cause = cause and f"{cause}-Change-ModuleValues"
            if not self._ask_script_first(state, cause) and cause:  # our own write of config comes back as no edit
                self._requests.tasks.request(state, cause)


class ClusterReactions:
    """Reacts to the cluster: objects and records of releases, what it serves, snapshots that hooks wait for. Each
    `follow_…` runs until cancelled."""

    def __init__(self, requests: UnitRequests, releases: WatchedReleases) -> None:
        self._states = requests.states
        self._requests = requests
        self._releases = releases

    async def follow_drift(self, findings: AsyncIterator[ObjectDrift]) -> None:
        """Run modules whose objects have drifted, if that repairs them."""
        async for finding in findings:
            state = self._states.get(finding.release)
            if state is None and is_unit_of_addon(finding.release):
                continue  # the unit was removed meanwhile, with all that is known of it
            repairs = state is not None and self._releases.needs_repair(state, finding)
            self._states.notices.publish(_drift_notice(finding, state, repairs))
            if state and repairs:
                cause = "AbsentHelmResourcesDetected" if finding.missing else "DriftDetected"
                self._requests.tasks.request(state, cause)

    async def follow_records(self, changed: AsyncIterator[str]) -> None:
        """Run modules about whose releases, which are named, another client has written something."""
        async for name in changed:
            state = self._states.get(name)
            if state and state.on:
                _log.warn("release modified by another client, reconciling", **state.unit.fields)
                message = f"the release {name} was modified by another client"
                self._states.notices.publish(Notice(name, "ReleaseChanged", message))
                self._requests.tasks.request(state, "HelmReleaseUnexpectedStatus")

    async def follow_unreadable(self, found: AsyncIterator[tuple[str, str]]) -> None:
        """Report records that cannot be read, of a release each with the problem. If it is that of what is deployed,
        all of it is applied again."""
        async for name, problem in found:
            self._states.notices.publish(Notice(name, "RecordUnreadable", problem))
            if (state := self._states.get(name)) and await self._releases.is_broken(state):
                self._requests.tasks.request(state, "HelmReleaseUnreadable")

    async def follow_capabilities(self, capabilities: ServedKinds) -> None:
        """When the cluster serves something new, charts that ask for it are rendered again, modules that failed for
        want of a kind try again, and those whose definitions were deleted apply them. Another version of the cluster
        may lead to another one of an addon."""
        async for before in capabilities.changes():
            present = await capabilities.get()
            served, is_upgraded = frozenset(present.api_versions), present.kube_version != before.kube_version
            for state in filter(_is_on, self._states.units):
                if not state.kinds <= served:
                    state.lose_definitions()
                    self._requests.tasks.request(state, "Definitions-Gone")
                elif state.is_blocked:  # it has no task that waits
                    self._requests.tasks.request(state, "Capabilities-Changed")
                elif state.parked:
                    self._requests.tasks.retry_now(state.name)
                elif (state.unit.kind.follows_version and is_upgraded) or self._releases.may_depend(
                    state, before, present
                ):
                    self._requests.tasks.request(state, "Capabilities-Changed")

    async def follow_snapshots(self, progress: Notifier) -> None:
        """Retry modules that were set aside for want of a snapshot when there may be one."""
        while True:
            await progress.next()
            for state in filter(_is_on, self._states.units):
                if isinstance(state.failure, MissingSnapshot):
                    self._requests.tasks.retry_now(state.name)


def _is_on(state: UnitState) -> bool:
    return state.on


def _drift_notice(finding: ObjectDrift, state: UnitState | None, repairs: bool) -> Notice:
    """A unit that is set aside repairs nothing while its obstacle lasts."""
    fate = "is gone" if finding.missing else f"was changed: {', '.join(finding.fields)}"
    text, kind = f"{finding} {fate}", state.unit.kind if state else MODULE
    if kind.repaired and state and repairs and not state.set_aside:
        return Notice(finding.release, kind.repaired, f"{text}; it is applied again", bad=False)
    return Notice(finding.release, kind.drifted, text)
