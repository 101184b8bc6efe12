"""What the user says of modules, in files and in the cluster, as values and as decisions: who is on, who is off, and of
whom that cannot be said (addon-operator.md §2.3, §5.2, design.md §4.2).

Each section counts by itself. One that is no good leaves the last good one in force and its module as it is.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from hookrunner import log
from hookrunner.convergence.decisions import config_reports
from hookrunner.convergence.decisions.config_object import ConfigObject, Contents
from hookrunner.convergence.decisions.config_reports import Missing
from hookrunner.convergence.decisions.remarks import Remarks
from hookrunner.convergence.decisions.sources import Sources
from hookrunner.convergence.decisions.trouble import Trouble
from hookrunner.convergence.notices import Item
from hookrunner.convergence.runs.capabilities import KnownCapabilities
from hookrunner.convergence.state import NOT_YET, ModuleState, ModuleStates
from hookrunner.errors import BadValues, KubeError
from hookrunner.model.modules import Choice, Decision
from hookrunner.model.resources import JSON
from hookrunner.model.values import GLOBAL
from hookrunner.modules.enabled import CONFIG, Facts, flagged, uncertain
from hookrunner.modules.recalculation import Asks, Recalculation
from hookrunner.modules.scripts import Documents
from hookrunner.modules.statics import Flag
from hookrunner.values.config_sections import Config, parse
from hookrunner.values.patches import same
from hookrunner.values.store import Store

_log = log.get("config")
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Extenders:
    """Who may say whether a module is on: `chain` in the order of asking, flags of files, what global hooks say, and
    the `enabled` scripts. `as_addon`: the configuration is read as addon-operator reads it."""

    chain: Sequence[str]
    static: Mapping[str, Flag]
    dynamic: Callable[[], Mapping[str, bool]]
    scripts: Asks
    as_addon: bool = False


class Deciding:
    """Keeps the configuration and decides. `refused` has, by key, what is wrong with a section; `unseen` says why the
    configuration cannot be read at all, empty if it can. `failures` counts decisions that left a module undecided."""

    def __init__(
        self, extenders: Extenders, states: ModuleStates, store: Store, known: KnownCapabilities, sources: Sources
    ) -> None:
        self.refused: Mapping[str, BadValues] = {}
        self.unseen = ""
        self.failures = 0
        self.trouble = Trouble(time.monotonic)
        self._extenders = extenders
        self._states = states
        self._store = store
        self._known = known
        self._sources = sources
        self._missing = Missing(states.news)
        self._remarks = Remarks(states, extenders.as_addon)
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
        """Why nothing can be decided about any module; empty if something can."""
        refused = self.refused.get(GLOBAL)
        return self.unseen or (f"the section {GLOBAL} is refused: {refused}" if refused else "")

    def maintained(self, key: str) -> bool:
        """Are the objects of this module to be left alone?"""
        return bool(self._config.maintenance.get(key))

    def global_values(self) -> JSON:
        """The global section as it is now."""
        return self._store.effective(GLOBAL)

    def adopt(self) -> frozenset[str]:
        """Take over what the cluster holds; the keys that mean something else now, `…Enabled` and `…Maintenance`
        included. Nothing is taken over until everything has been read once."""
        self.unseen = self._unseen()
        if self._sources.unread:
            return frozenset()
        config, secret = self._sources.contents
        before, self._config, self._secret = self._config, *self._parsed(config, secret)
        self._remarks.tell((self._config, self._secret), self._sources.contents)
        self._hold_what_goes()
        changed = self._judge()
        self._renew_reasons()
        for source in self._sources.missing:
            if source.contents.version:
                self._missing.tell(source, self.forecast(source))
        self._missing.tell_of_ends(self._sources)
        return changed | _differences(before.maintenance, self._config.maintenance)

    def weigh_missing(self) -> None:
        """Now that it is known what is installed: a source that has been missing from the start on is waited for if an
        earlier process may have seen it. Else a restart would be a way round the grace."""
        for source in self._sources.missing:
            if not source.contents.version:
                if self._matters(source):
                    self._missing.tell(source, self.forecast(source))
                else:
                    source.grace.end()
        self.unseen = self._unseen()

    def forecast(self, source: ConfigObject) -> str:
        """What comes of it that a source is missing, for a person."""
        going = [state.module.name for state in self._off_without(source)]
        going = config_reports.with_dependents(going, [state.module for state in self._states if state.live])
        config = self._config if source is self._sources.config else self._secret
        states = {key: self._states.of_key(key) for key, section in config.sections.items() if section}
        stay = [state.module.name for state in states.values() if state and state.on and state.module.name not in going]
        return config_reports.forecast(source, going, [GLOBAL] * (GLOBAL in states) + sorted(stay))

    @property
    def unsure(self) -> bool:
        """Is there a module about which to ask again may bring something: its script failed, or what it requires is
        not known? What is wrong with values is news when it is mended."""
        return any(s.decision.choice is Choice.UNDECIDED and s.decision.by for s in self._states)

    def flags_changed(self) -> bool:
        """Would flags alone decide otherwise about some module than it was decided last?"""
        facts = self._facts()
        return any(_contradicts(flagged(s.module, self._extenders.chain, facts), s.decision) for s in self._states)

    async def decide(self) -> bool:
        """Decide about every module; is any of them on now that was not, or the other way round?"""
        async with self._deciding:
            return await self._decide_all()

    def is_outdated(self, state: ModuleState) -> bool:
        """Has the module an `enabled` script, and another config than when it was decided about last?"""
        key = state.module.key
        last = self._decided_by.get(key, _NOTHING)
        return last is not _NOTHING and not same(last, self._store.config(key))

    async def contradicts(self, state: ModuleState) -> bool:
        """Would be decided otherwise about this module now than it was last? Asks its script again.

        Waits for decisions under way: they may have begun with other values.
        """
        async with self._deciding:
            modules = [other.module for other in self._states]
            last = {other.module.name: other.decision for other in self._states}
            decision = await self._recalculation([state]).again(state.module, modules, last)
        return decision.choice is not state.decision.choice

    async def _decide_all(self) -> bool:
        self._judge()
        with suppress(KubeError):  # modules that require a version are undecided as long as nobody knows it
            self._kubernetes = (await self._known.get()).kube_version
        decided = await self._recalculation(self._states).decisions([state.module for state in self._states])
        self.failures += any(decision.choice is Choice.UNDECIDED for decision in decided.values())
        changed = [state for state in self._states if self._decide(state, decided[state.module.name])]
        self._store.enabled_modules([state.module.name for state in self._states if state.on or state.live])
        return bool(changed)

    def _recalculation(self, states: Iterable[ModuleState]) -> Recalculation:
        """With the values of this moment, for the scripts of these modules."""
        keys = [state.module.key for state in states if state.module.script]
        self._decided_by |= {key: self._store.config(key) for key in keys}
        documents = {key: Documents(self._store.config_document(key), self._store.document(key)) for key in keys}
        return Recalculation(self._extenders.chain, self._facts(), documents, self._extenders.scripts)

    def _decide(self, state: ModuleState, decision: Decision) -> bool:
        """Whether it is another choice than before."""
        before = state.decision
        state.decide(decision)
        if decision.choice is Choice.OFF and state.live:
            self._store.hold(state.module.key)
        if decision.choice is before.choice and before is not NOT_YET:
            return False
        if not state.live:
            state.reach(state.phase)  # from now on, not from the start on
        level = "error" if decision.choice is Choice.UNDECIDED else "info"
        if decision.choice is Choice.UNDECIDED:
            self._states.news.tell(Item(state.module.name, "ModuleUndecided", decision.reason))
        _log.log(level, f"module is {decision.choice}", module=state.module.name, by=decision.by, why=decision.reason)
        return True

    def _hold_what_goes(self) -> None:
        """Modules that flags turn off keep what they last ran with, lest an edit takes their values away as well."""
        facts = self._facts()
        for state in self._states:
            if state.live and flagged(state.module, self._extenders.chain, facts).choice is Choice.OFF:
                self._store.hold(state.module.key)

    def _judge(self) -> frozenset[str]:
        """Hand the configuration to the store, judging the sections of all that are on or may come to be."""
        facts = self._facts()
        on = [s for s in self._states if s.on or flagged(s.module, self._extenders.chain, facts).choice is Choice.ON]
        adopted = self._store.adopt(self._config, self._secret, {state.module.key for state in on})
        self._tell(adopted.refused)
        self.refused = adopted.refused
        self.trouble.see(bool(self.refused))
        return adopted.changed

    def _renew_reasons(self) -> None:
        """Whoever is undecided and whose section was edited once more in vain is so for what is wrong with it now."""
        facts = self._facts()
        for state in self._states:
            if state.decision.choice is Choice.UNDECIDED and not state.decision.by and state.decision is not NOT_YET:
                flags = flagged(state.module, self._extenders.chain, facts)
                state.decide(uncertain(state.module, flags, facts) or state.decision)

    def _tell(self, refused: Mapping[str, BadValues]) -> None:
        """What is refused now and was not, or for another reason, and what is not any more."""
        for key, error in refused.items():
            if str(error) != str(self.refused.get(key, "")):
                fate = self._fate(key)
                _log.error(f"A section of the configuration is not used; {fate}.", error=str(error))
                self._states.news.tell(Item(key, "ConfigRejected", f"{error}; {fate}"))
        for key in self.refused.keys() - refused.keys():
            self._states.news.tell(Item(key, "ConfigAccepted", f"{key}: the section is used again", bad=False))

    def _fate(self, key: str) -> str:
        """What comes of it that this section is refused. At a start there is no last good one."""
        state = self._states.of_key(key)
        concerned = [state] if state else self._states
        undecided = all(one.decision.choice is Choice.UNDECIDED for one in concerned)
        return "until it is mended, nothing is run or removed" if undecided else "the last good values stay in use"

    def _unseen(self) -> str:
        """Why nothing can be decided: something has never been read, or was not there when we started."""
        if unread := self._sources.unread:
            return f"the configuration cannot be read: {unread}"
        return next((self.forecast(one) for one in self._sources.missing if not one.contents.version), "")

    def _matters(self, source: ConfigObject) -> bool:
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

    def _facts(self) -> Facts:
        invalid = {key: str(error) for key, error in self.refused.items()}
        invalid |= {state.module.key: state.module.problem for state in self._states if state.module.problem}
        if self.unseen:
            invalid[GLOBAL] = self.unseen
        flags = {**self._config.enabled, **self._secret.enabled}
        running = frozenset(state.module.name for state in self._states if state.live)
        unread = self._config.bad_flags | self._secret.bad_flags if CONFIG in self._extenders.chain else frozenset()
        dynamic = self._extenders.dynamic()
        return Facts(self._extenders.static, dynamic, flags, invalid, running, self._kubernetes, unread)

    def _parsed(self, config: Contents, secret: Contents) -> tuple[Config, Config]:
        as_addon = self._extenders.as_addon
        return parse(config.data, as_addon), parse(secret.data, as_addon)


def _contradicts(flags: Decision, decision: Decision) -> bool:
    """Only scripts and requirements turn off what flags turn on."""
    if decision.by in ("ScriptEnabled", "Requires"):
        return flags.choice is not Choice.ON
    return decision.choice is not Choice.UNDECIDED and flags.choice is not decision.choice


def _differences(one: Mapping[str, bool], other: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(key for key in {*one, *other} if bool(one.get(key)) != bool(other.get(key)))
