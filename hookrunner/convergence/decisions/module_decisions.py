"""Which modules are on, off or undecided, and with which values: from files, from the cluster's ConfigMap and Secret,
and from what global hooks and `enabled` scripts say (see docs/modules.md).

Each section counts by itself. One that is refused leaves the last good one in force and its module as it is.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from hookrunner import log
from hookrunner.convergence.decisions import config_reports
from hookrunner.convergence.decisions.config_object import ConfigObject, ConfigSources
from hookrunner.convergence.decisions.config_reports import ConfigRemarks, MissingSources, TroubleCounter
from hookrunner.convergence.events import Notice
from hookrunner.convergence.state import NOT_YET, ModuleState, ModuleStates
from hookrunner.errors import BadValues, KubeError
from hookrunner.model.modules import GLOBAL, Choice, Decision, Module
from hookrunner.model.releases import Capabilities
from hookrunner.modules.enabled import CONFIG, Asks, Facts, Recalculation, ScriptValues, contradicts, flagged, uncertain
from hookrunner.modules.shelf import StaticFlag
from hookrunner.values.config_sections import Config, parse
from hookrunner.values.section_store import SectionStore
from kubetypes import json_values
from kubetypes.json_values import JSON

_log = log.get("config")
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Extenders:
    """What has a say in whether a module is on: `chain` in the order of asking, flags of files, flags of global hooks
    (a live mapping), and the `enabled` scripts. `as_addon`: the configuration is read as addon-operator reads it."""

    chain: Sequence[str]
    static: Mapping[str, StaticFlag]
    dynamic: Mapping[str, bool]
    scripts: Asks
    as_addon: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """What was adopted: `changed` keys mean something else than before, flags and maintenance included. `is_decisive`:
    it may turn a module on or off."""

    changed: frozenset[str] = frozenset()
    is_decisive: bool = False


class ModuleDecisions:
    """Keeps the configuration and decides. `refused` has, by key, what is wrong with a section; `unseen` says why the
    configuration cannot be read at all, empty if it can. `failures` counts decisions that left a module undecided."""

    def __init__(
        self,
        extenders: Extenders,
        states: ModuleStates,
        store: SectionStore,
        capabilities: Callable[[], Awaitable[Capabilities]],
        sources: ConfigSources,
    ) -> None:
        self.refused: Mapping[str, BadValues] = {}
        self.unseen = ""
        self.failures = 0
        self.trouble = TroubleCounter(time.monotonic)
        self._extenders = extenders
        self._states = states
        self._store = store
        self._capabilities = capabilities
        self._sources = sources
        self._missing = MissingSources(states.notices)
        self._remarks = ConfigRemarks(states, extenders.as_addon)
        self._kubernetes = ""
        self._deciding = asyncio.Lock()
        self._decided_by: dict[str, JSON] = {}
        self._config, self._secret = Config(), Config()

    @property
    def bad(self) -> frozenset[str]:
        """The keys whose sections cannot be used as they are; `global` also stands for what cannot be read at all."""
        return frozenset(self.refused) | ({GLOBAL} if self.unseen else set())

    @property
    def doubt(self) -> str:
        """Why no module can be decided about; empty if that can be done."""
        refused = self.refused.get(GLOBAL)
        return self.unseen or (f"the section {GLOBAL} is refused: {refused}" if refused else "")

    @property
    def is_unsure(self) -> bool:
        """Is there a module about which a new decision may differ: its script failed, or what it requires is unknown?
        What is wrong with values brings an edit when it is corrected."""
        return any(s.decision.choice is Choice.UNDECIDED and s.decision.by for s in self._states)

    def is_maintained(self, key: str) -> bool:
        """Should the objects of this module be left alone?"""
        return bool(self._config.maintenance.get(key))

    def global_values(self) -> JSON:
        """The present global section."""
        return self._store.effective(GLOBAL)

    # The configuration.

    def adopt(self) -> Edit:
        """Adopt what the cluster holds, unless something was never read. Flags are judged once for all that follows."""
        bad, before = self.bad, self._config.maintenance
        self.unseen = self._unseen()
        if self._sources.unread:
            return Edit(is_decisive=self._is_decisive(bad, self._flags()))
        self._config, self._secret = self._parse()
        self._remarks.report((self._config, self._secret), self._sources.contents)
        flags = self._flags()
        self._hold_values(flags)
        changed = self._adopt_sections(flags) | _differences(before, self._config.maintenance)
        self._renew_reasons(flags)
        self._report_missing()
        return Edit(changed, self._is_decisive(bad, flags))

    def weigh_missing(self) -> None:
        """It is known now what is installed: a source that was missing from the start on is waited for if an earlier
        process may have seen it. Otherwise a restart would be a way round the grace."""
        for source in self._sources.missing:
            if not source.contents.version:
                if self._may_have_existed(source):
                    self._missing.report(source, self.forecast(source))
                else:
                    source.grace.end()
        self.unseen = self._unseen()

    def forecast(self, source: ConfigObject) -> str:
        """What follows if a source stays missing, for a person."""
        going = [state.module.name for state in self._off_without(source)]
        going = config_reports.with_dependents(going, [state.module for state in self._states if state.live])
        config = self._config if source is self._sources.config else self._secret
        states = {key: self._states.of_key(key) for key, section in config.sections.items() if section}
        stay = [state.module.name for state in states.values() if state and state.on and state.module.name not in going]
        return config_reports.forecast(source, going, [GLOBAL] * (GLOBAL in states) + sorted(stay))

    def _parse(self) -> tuple[Config, Config]:
        config, secret = self._sources.contents
        as_addon = self._extenders.as_addon
        return parse(config.data, as_addon), parse(secret.data, as_addon)

    def _flags(self) -> dict[str, Decision]:
        """What flags alone say about each module, by name."""
        facts = self._facts()
        return {s.module.name: flagged(s.module, self._extenders.chain, facts) for s in self._states}

    def _is_decisive(self, bad: frozenset[str], flags: Mapping[str, Decision]) -> bool:
        """What was bad and is good again may decide about its module, as flags and global values do about any."""
        return bool(bad - self.bad) or self._contradict(flags)

    def _hold_values(self, flags: Mapping[str, Decision]) -> None:
        """Modules that flags turn off keep the values that they last ran with: an edit may remove these as well."""
        for state in self._states:
            if state.live and flags[state.module.name].choice is Choice.OFF:
                self._store.hold(state.module.key)

    def _adopt_sections(self, flags: Mapping[str, Decision]) -> frozenset[str]:
        """Hand the configuration to the store, which validates the sections of all that are on or may come to be."""
        on = {s.module.key for s in self._states if s.on or flags[s.module.name].choice is Choice.ON}
        adopted = self._store.adopt(self._config, self._secret, on)
        self._report_refused(adopted.refused)
        self.refused = adopted.refused
        self.trouble.observe(bool(self.refused))
        return adopted.changed

    def _renew_reasons(self, flags: Mapping[str, Decision]) -> None:
        """A module that is undecided, and whose section was edited without success, has the present error as reason."""
        facts = self._facts()
        for state in self._states:
            if state.decision.choice is Choice.UNDECIDED and not state.decision.by and state.decision is not NOT_YET:
                state.decide(uncertain(state.module, flags[state.module.name], facts) or state.decision)

    def _report_missing(self) -> None:
        for source in self._sources.missing:
            if source.contents.version:
                self._missing.report(source, self.forecast(source))
        self._missing.report_ends(self._sources)

    def _report_refused(self, refused: Mapping[str, BadValues]) -> None:
        """What is refused now and was not, or for another reason, and what is not refused any more."""
        for key, error in refused.items():
            if str(error) != str(self.refused.get(key, "")):
                fate = self._fate(key)
                _log.error(f"section of the configuration refused; {fate}", error=str(error))
                self._states.notices.publish(Notice(key, "ConfigRejected", f"{error}; {fate}"))
        for key in self.refused.keys() - refused.keys():
            message = f"{key}: the section is used again"
            self._states.notices.publish(Notice(key, "ConfigAccepted", message, bad=False))

    def _fate(self, key: str) -> str:
        """What follows from the refusal of this section. At a start there is no last good one."""
        module = self._states.of_key(key)
        concerned = [module] if module else self._states
        undecided = all(state.decision.choice is Choice.UNDECIDED for state in concerned)
        return "until it is corrected, nothing is run or removed" if undecided else "the last good values stay in use"

    def _unseen(self) -> str:
        """Why nothing can be decided: something was never read, or did not exist when the process started."""
        if unread := self._sources.unread:
            return f"the configuration cannot be read: {unread}"
        return next((self.forecast(source) for source in self._sources.missing if not source.contents.version), "")

    def _may_have_existed(self, source: ConfigObject) -> bool:
        """May the source, which does not exist, have existed in an earlier process? The Secret is named by a setting;
        the ConfigMap must have existed if something is installed that no file or hook turns on."""
        if source is self._sources.secret:
            return any(state.live for state in self._states)
        return bool(self._off_without(source))

    def _off_without(self, source: ConfigObject) -> list[ModuleState]:
        """Modules that are installed, and that flags would turn off if the source were empty."""
        other = self._secret if source is self._sources.config else self._config
        facts = replace(self._facts(), config=other.enabled)
        chain = self._extenders.chain
        return [s for s in self._states if s.live and flagged(s.module, chain, facts).choice is Choice.OFF]

    # Decisions.

    def has_changed_flags(self) -> bool:
        """Would flags alone decide otherwise about some module than it was decided last?"""
        return self._contradict(self._flags())

    async def decide(self) -> bool:
        """Decide about every module; has the choice about any of them changed?"""
        async with self._deciding:
            self._adopt_sections(self._flags())
            with suppress(KubeError):  # modules that require a version are undecided as long as it is not known
                self._kubernetes = (await self._capabilities()).kube_version
            decided = await self._recalculation(self._states).decisions([state.module for state in self._states])
            self.failures += any(decision.choice is Choice.UNDECIDED for decision in decided.values())
            changed = [state for state in self._states if self._take(state, decided[state.module.name])]
            self._store.enabled_modules([state.module.name for state in self._states if state.on or state.live])
            return bool(changed)

    def is_outdated(self, state: ModuleState) -> bool:
        """Has the module an `enabled` script, and another config than when it was decided about last?"""
        key = state.module.key
        last = self._decided_by.get(key, _NOTHING)
        return last is not _NOTHING and not json_values.equal(last, self._store.config(key))

    async def contradicts(self, state: ModuleState) -> bool:
        """Would the decision about this module be another one now? Asks its script again, after decisions under way:
        they may have begun with other values."""
        async with self._deciding:
            modules = [other.module for other in self._states]
            last = {other.module.name: other.decision for other in self._states}
            decision = await self._recalculation([state]).again(state.module, modules, last)
        return decision.choice is not state.decision.choice

    def _contradict(self, flags: Mapping[str, Decision]) -> bool:
        return any(contradicts(flags[s.module.name], s.decision) for s in self._states)

    def _recalculation(self, states: Iterable[ModuleState]) -> Recalculation:
        """With the present values, for the scripts of these modules."""
        keys = [state.module.key for state in states if state.module.script]
        self._decided_by |= {key: self._store.config(key) for key in keys}
        documents = {key: ScriptValues(self._store.config_document(key), self._store.document(key)) for key in keys}
        return Recalculation(self._extenders.chain, self._facts(), documents, self._extenders.scripts)

    def _take(self, state: ModuleState, decision: Decision) -> bool:
        """Take a decision over; is it another choice than before?"""
        before = state.decision
        state.decide(decision)
        if decision.choice is Choice.OFF and state.live:
            self._store.hold(state.module.key)
        if decision.choice is before.choice and before is not NOT_YET:
            return False
        if not state.live:
            state.reach(state.phase)  # the time counts from now on, not from the start on
        self._report_decision(state.module, decision)
        return True

    def _report_decision(self, module: Module, decision: Decision) -> None:
        level = "error" if decision.choice is Choice.UNDECIDED else "info"
        if decision.choice is Choice.UNDECIDED:
            self._states.notices.publish(Notice(module.name, "ModuleUndecided", decision.reason))
        _log.log(level, f"module is {decision.choice}", module=module.name, by=decision.by, why=decision.reason)

    def _facts(self) -> Facts:
        invalid = {key: str(error) for key, error in self.refused.items()}
        invalid |= {state.module.key: state.module.problem for state in self._states if state.module.problem}
        if self.unseen:
            invalid[GLOBAL] = self.unseen
        flags = {**self._config.enabled, **self._secret.enabled}
        running = frozenset(state.module.name for state in self._states if state.live)
        unread = self._config.bad_flags | self._secret.bad_flags if CONFIG in self._extenders.chain else frozenset()
        static, dynamic = self._extenders.static, self._extenders.dynamic
        return Facts(static, dynamic, flags, invalid, running, self._kubernetes, unread)


def _differences(before: Mapping[str, bool], after: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(key for key in {*before, *after} if bool(before.get(key)) != bool(after.get(key)))
