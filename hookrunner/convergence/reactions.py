"""What happens to modules after the first round, and before: the configuration changes, hooks change values, objects
drift, records are written by others, the cluster serves something new (addon-operator.md §5.6)."""

from collections.abc import AsyncIterator

from hookrunner import log
from hookrunner.convergence.converge import Rounds
from hookrunner.convergence.decisions.config_object import ConfigObject
from hookrunner.convergence.decisions.module_decisions import Deciding
from hookrunner.convergence.edits import Edits
from hookrunner.convergence.notices import Item
from hookrunner.convergence.runs.capabilities import KnownCapabilities
from hookrunner.convergence.runs.module_tasks import Tasks
from hookrunner.convergence.runs.release_reconciler import Releasing
from hookrunner.convergence.state import ModuleState, ModuleStates
from hookrunner.engine.executions import Executions, ValuesChanged
from hookrunner.engine.progress import Progress
from hookrunner.model.bindings import BindingType
from hookrunner.model.releases import Finding
from hookrunner.model.values import GLOBAL
from hookrunner.releases.releases import Releases

_log = log.get("modules")

_CAUSES = {
    BindingType.KUBERNETES: "Kubernetes",
    BindingType.SCHEDULE: "Schedule",
    BindingType.VALIDATING: "Webhook",
    BindingType.MUTATING: "Webhook",
    BindingType.CONVERSION: "Webhook",
}
"""Bindings after which something is done about changed values; after others modules are run anyway (§3.2, §4.4)."""


class Reactions:
    """Turns news into work."""

    def __init__(
        self, states: ModuleStates, deciding: Deciding, rounds: Rounds, tasks: Tasks, releasing: Releasing
    ) -> None:
        self._states = states
        self._deciding = deciding
        self._rounds = rounds
        self._tasks = tasks
        self._releasing = releasing
        self._edits = Edits()
        self._scripted = Edits()
        self._causes: dict[str, str] = {}

    async def follow_config(self, source: ConfigObject) -> None:
        """For ever: take over what is in one of the two objects that users write."""
        async for _ in source.states():
            self._configured()

    async def follow_grace(self, source: ConfigObject) -> None:
        """For ever: take over that one of them is missing for longer than its grace."""
        async for _ in source.ends():
            self._configured()

    def _configured(self) -> None:
        """The configuration was read anew. What was no good and is good again may decide about its module, as flags and
        global values do about any."""
        bad = self._deciding.bad
        changed = self._deciding.adopt()
        if changed and self._rounds.converged.is_set():
            self._releasing.expect()
        decides = bad - self._deciding.bad or self._deciding.flags_changed()
        self._edits.add(changed | ({GLOBAL} if decides else set()))

    async def follow_edits(self) -> None:
        """For ever: run what has changed."""
        while True:
            changed = await self._edits.some()
            if GLOBAL in changed:
                self._rounds.ask("KubeConfig-Changed", at_once=True)
                continue
            for state in filter(None, map(self._states.of_key, sorted(changed))):
                if not self._is_for_script(state, "KubeConfig-Changed-Modules"):
                    self._rounds.again(state, "KubeConfig-Changed-Modules")

    async def follow_scripts(self) -> None:
        """For ever: ask the `enabled` scripts of modules whose own config has changed, then run those that stay on.

        Other modules do not wait for a script that hangs.
        """
        while True:
            for state in filter(None, map(self._states.of_key, sorted(await self._scripted.some()))):
                cause = self._causes.pop(state.module.key, "")
                if await self._deciding.contradicts(state):
                    self._rounds.ask("KubeConfig-Changed", at_once=True)
                elif cause:
                    self._rounds.again(state, cause)

    def _is_for_script(self, state: ModuleState, cause: str) -> bool:
        """Is the module's `enabled` script to be asked first? Then it is, and the module runs afterwards if there is a
        cause for that: values that turn a module off must not be applied before."""
        key = state.module.key
        outdated = self._deciding.is_outdated(state)
        if outdated:
            self._causes[key] = cause or self._causes.get(key, "")
            self._scripted.add({key})
        return outdated

    async def follow_flags(self, flagged: Progress) -> None:
        """For ever: global hooks say otherwise than before which modules are on. In the start that is decided later
        anyway."""
        while True:
            await flagged.next()
            if self._rounds.deciding_is_past and self._deciding.flags_changed():
                self._rounds.ask("ReloadAll-After-GlobalHookDynamicUpdate", at_once=True)

    async def follow_values(self, executions: Executions) -> None:
        """For ever: hooks that have changed values."""
        async for change in executions.changes():
            self._changed(change)

    def _changed(self, change: ValuesChanged) -> None:
        order = change.order
        cause = "" if order.synchronizes else _CAUSES.get(order.binding_type, "")
        if order.module == GLOBAL:
            if cause:
                self._rounds.ask(f"{cause}-Change-GlobalValues", at_once=False)
        elif state := self._states.get(order.module):
            cause = cause and f"{cause}-Change-ModuleValues"
            if not self._is_for_script(state, cause) and cause:  # a lasting patch comes back as no edit
                self._again(state, cause)

    async def follow_drift(self, findings: AsyncIterator[Finding]) -> None:
        """For ever: objects that are not as they were applied."""
        async for finding in findings:
            state = self._states.get(finding.release)
            self._states.news.tell(_drifted(finding))
            if state and self._releasing.found(state, finding):
                self._again(state, "AbsentHelmResourcesDetected" if finding.missing else "DriftDetected")

    async def follow_records(self, releases: Releases, namespace: str) -> None:
        """For ever: releases about which somebody else has written something."""
        async for name in releases.changes(namespace):
            state = self._states.get(name)
            if state and state.on:
                _log.warn("Somebody else has changed the release; it is made what it is to be.", module=name)
                self._states.news.tell(Item(name, "ReleaseChanged", f"somebody else has changed the release {name}"))
                self._again(state, "HelmReleaseUnexpectedStatus")

    async def follow_unreadable(self, releases: Releases) -> None:
        """For ever: records that cannot be read. If it is that of what is deployed, all of it is applied anew."""
        async for name, problem in releases.unreadable():
            self._states.news.tell(Item(name, "RecordUnreadable", problem))
            if (state := self._states.get(name)) and await self._releasing.broken(state):
                self._again(state, "HelmReleaseUnreadable")

    async def follow_capabilities(self, known: KnownCapabilities) -> None:
        """For ever: charts that look at what the cluster serves are rendered again when that has changed; modules that
        failed for want of a kind try again, and those whose definitions somebody has taken away apply them."""
        async for _ in known.changes():
            served = frozenset((await known.get()).api_versions)
            for state in self._states.enabled:
                if not state.kinds <= served:
                    state.lose_definitions()
                    self._again(state, "Definitions-Gone")
                elif state.parked:
                    self._tasks.hurry(state.module.name)
                elif self._releasing.reads_capabilities(state):
                    self._again(state, "Capabilities-Changed")

    def _again(self, state: ModuleState, cause: str) -> None:
        """Run a module once more. One whose turn has not come yet will find everything as it is then."""
        if state.on and state.turn:
            self._tasks.ask(state, cause)

    async def follow_snapshots(self, progress: Progress) -> None:
        """For ever: a module that was set aside for want of a snapshot tries again when there may be one."""
        while True:
            await progress.next()
            for state in self._states.enabled:
                if state.lacks_snapshot:
                    self._tasks.hurry(state.module.name)


def _drifted(finding: Finding) -> Item:
    fate = "is gone" if finding.missing else f"was changed: {', '.join(finding.fields)}"
    return Item(finding.release, "ModuleDrifted", f"{finding} {fate}")
