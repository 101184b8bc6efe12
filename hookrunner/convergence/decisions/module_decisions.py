"""Which modules are on, off or undecided: by what the configuration, files and global hooks say of them, what they
require, and what their `enabled` scripts answer (see docs/modules.md)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace

from hookrunner import log
from hookrunner.convergence.decisions.configuration import UserConfiguration
from hookrunner.convergence.events import Notice
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.errors import KubeError
from hookrunner.model.modules import GLOBAL, Choice, Decision, Module
from hookrunner.model.releases import Capabilities
from hookrunner.model.unit_state import NOT_YET, ModuleState, UnitState
from hookrunner.modules.enabled import Recalculation, ScriptValues
from hookrunner.values.section_store import SectionStore
from kubetypes import json_values
from kubetypes.json_values import JSON

_log = log.get(__name__)
_NOTHING = object()


class ModuleDecisions:
    """Decides about modules, by the configuration as it is then. `failures` counts decisions that left a module
    undecided."""

    def __init__(
        self,
        configuration: UserConfiguration,
        states: UnitStates,
        store: SectionStore,
        capabilities: Callable[[], Awaitable[Capabilities]],
    ) -> None:
        self.configuration = configuration
        self.failures = 0
        self._states = states
        self._store = store
        self._capabilities = capabilities
        self._kubernetes = ""
        self._deciding = asyncio.Lock()
        self._decided_by: dict[str, JSON] = {}

    @property
    def doubt(self) -> str:
        """Why no module can be decided about; empty if that can be done."""
        refused = self.configuration.refused.get(GLOBAL)
        return self.configuration.unseen or (f"the section {GLOBAL} is refused: {refused}" if refused else "")

    @property
    def is_unsure(self) -> bool:
        """Is there a module about which a new decision may differ: its script failed, or what it requires is unknown?
        What is wrong with values brings an edit when it is corrected."""
        return any(s.decision.choice is Choice.UNDECIDED and s.decision.by for s in self._states.modules)

    def global_values(self) -> JSON:
        """The present global section."""
        return self._store.effective(GLOBAL)

    async def decide(self) -> bool:
        """Decide about every module; has the choice about any of them changed?"""
        async with self._deciding:
            self.configuration.adopt_sections(self.configuration.flags())
            with suppress(KubeError):  # modules that require a version are undecided as long as it is not known
                self._kubernetes = (await self._capabilities()).kube_version
            states = self._states.modules
            decided = await self._recalculation(states).decisions([state.module for state in states])
            self.failures += any(decision.choice is Choice.UNDECIDED for decision in decided.values())
            _report_unmentioned([state.module for state in states if _is_unmentioned(state, decided[state.name])])
            changed = [state for state in states if self._take(state, decided[state.name])]
            self._store.enabled_modules([state.name for state in states if state.on or state.live])
            return bool(changed)

    def is_outdated(self, state: UnitState) -> bool:
        """Has the module another config than when its `enabled` script was asked last?"""
        key = state.unit.section
        last = self._decided_by.get(key, _NOTHING)
        return last is not _NOTHING and not json_values.equal(last, self._store.config(key))

    async def contradicts(self, state: ModuleState) -> bool:
        """Would the decision about this module be another one now? Asks its script again, after decisions under way:
        they may have begun with other values."""
        async with self._deciding:
            modules = [other.module for other in self._states.modules]
            last = {other.name: other.decision for other in self._states.modules}
            decision = await self._recalculation([state]).again(state.module, modules, last)
        return decision.choice is not state.decision.choice

    def _recalculation(self, states: Iterable[ModuleState]) -> Recalculation:
        """With the present values, for the scripts of these modules."""
        keys = [state.unit.key for state in states if state.module.script]
        self._decided_by |= {key: self._store.config(key) for key in keys}
        documents = {key: ScriptValues(self._store.config_document(key), self._store.document(key)) for key in keys}
        extenders = self.configuration.extenders
        facts = replace(self.configuration.facts(), kubernetes=self._kubernetes)
        return Recalculation(extenders.chain, facts, documents, extenders.scripts)

    def _take(self, state: ModuleState, decision: Decision) -> bool:
        """Take a decision over; is it another choice than before?"""
        before, is_reported = state.decision, _is_unmentioned(state, decision)
        state.decide(decision)
        if decision.choice is Choice.OFF and state.live:
            self._store.hold(state.unit.key)
        if decision.choice is before.choice and before is not NOT_YET:
            return False
        if not state.live:
            state.reach(state.phase)  # the time counts from now on, not from the start on
        if not is_reported:
            self._report_decision(state.module, decision)
        return True

    def _report_decision(self, module: Module, decision: Decision) -> None:
        level = "error" if decision.choice is Choice.UNDECIDED else "info"
        if decision.choice is Choice.UNDECIDED:
            self._states.notices.publish(Notice(module.name, "ModuleUndecided", decision.reason))
        _log.log(level, f"module is {decision.choice}", module=module.name, by=decision.by, reason=decision.reason)


def _is_unmentioned(state: ModuleState, decision: Decision) -> bool:
    """Is this the first decision about a module that is not installed, and is it off because nothing mentions it?"""
    return decision.choice is Choice.OFF and not decision.by and state.decision is NOT_YET and not state.live


def _report_unmentioned(modules: list[Module]) -> None:
    """Log in one line which modules are off from the start on: a directory may have dozens that are never used."""
    if modules:
        hint = f'to turn one on, set its flag in the ConfigMap, as in {modules[0].key}Enabled: "true"'
        _log.info("modules are off", modules=[module.name for module in modules], hint=hint)
