"""What users have configured in the cluster, adopted edit by edit: which modules their flags turn on, and with which
values. Reports what is refused, missing, unknown or not read alike everywhere (see docs/modules.md).

Each section counts by itself. One that is refused leaves the last good one in force and its module as it is.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from hookrunner import log
from hookrunner.convergence.decisions.config_object import ConfigObject, ConfigSources, Contents
from hookrunner.convergence.events import Notice, Notices
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.errors import BadValues
from hookrunner.model.modules import GLOBAL, Choice, Decision, Module
from hookrunner.model.status import some
from hookrunner.model.timestamps import rfc3339
from hookrunner.model.unit_state import NOT_YET, ModuleState
from hookrunner.modules.enabled import CONFIG, Asks, Facts, contradicts, flagged, uncertain
from hookrunner.modules.shelf import StaticFlag
from hookrunner.process.pure_calls import CallLost
from hookrunner.values.config_sections import READING, Config, parse_with_words, read_sections, size_of
from hookrunner.values.section_store import SectionStore
from kubetypes.light_dataclasses import dataclass

TROUBLE_EVERY = 5.0
"""Seconds after which trouble that lasts counts once more in `config_values_errors_total`, as under addon-operator."""

NOTHING_LOST = "nothing depends on it"
"""Ends the forecast for a source that may stay missing."""

_HINT = "write true or false, or put quotes around texts"
_log = log.get(__name__)


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
    it may turn a module on or off. `is_first`: until now the cluster could not be asked."""

    changed: frozenset[str] = frozenset()
    is_decisive: bool = False
    is_first: bool = False


class UserConfiguration:
    """The configuration as it was adopted last. `refused` has, by key, what is wrong with a section; `unseen` says why
    the configuration cannot be read at all, empty if it can."""

    def __init__(self, extenders: Extenders, states: UnitStates, store: SectionStore, sources: ConfigSources) -> None:
        self.extenders = extenders
        self.refused: Mapping[str, BadValues] = {}
        self.unseen = ""
        self.trouble = TroubleCounter(time.monotonic)
        self._states = states
        self._store = store
        self._sources = sources
        self._missing = MissingSources(states.notices)
        self._remarks = ConfigRemarks(states, extenders.as_addon)
        self._config, self._secret = Config(), Config()
        self._ahead: list[tuple[Contents, Config, Sequence[str]]] = []

    @property
    def bad(self) -> frozenset[str]:
        """The keys whose sections cannot be used as they are; `global` also stands for what cannot be read at all."""
        return frozenset(self.refused) | ({GLOBAL} if self.unseen else set())

    def is_maintained(self, key: str) -> bool:
        """Should the objects of this module be left alone?"""
        return bool(self._config.maintenance.get(key))

    async def read_ahead(self) -> None:
        """Parse what the cluster holds in another process, if that would hold up the event loop: `adopt` uses it then.
        What changes meanwhile, or cannot be parsed there, is parsed by `adopt`."""
        held = [contents for contents in self._sources.contents if _is_large(contents)]
        self._ahead = [entry for entry in self._ahead if any(entry[0] is contents for contents in held)]
        for contents in held:
            if not any(entry[0] is contents for entry in self._ahead):
                with suppress(CallLost):
                    self._ahead.append((contents, *await read_sections(contents.data, self.extenders.as_addon)))

    def adopt(self) -> Edit:
        """Adopt what the cluster holds, unless something was never read. Flags are judged once for all that follows."""
        bad, before = self.bad, self._config.maintenance
        self.unseen = self._unseen()
        if self._sources.unread:
            self._store.note_unread(self.unseen)
            return Edit(is_decisive=self._is_decisive(bad, self.flags()))
        self._config, self._secret = self._parse()
        flags = self.flags()
        self._hold_values(flags)
        changed = self.adopt_sections(flags) | _differences(before, self._config.maintenance)
        self._renew_reasons(flags)
        self._report_missing()
        was_unread = bool(self._store.unread)
        self._store.note_unread("")
        return Edit(changed, self._is_decisive(bad, flags), was_unread)

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
        going = [state.name for state in self._off_without(source)]
        going = _with_dependents(going, [state.module for state in self._states.modules if state.live])
        config = self._config if source is self._sources.config else self._secret
        states = {key: self._states.by_key.get(key) for key, section in config.sections.items() if section}
        stay = [state.name for state in states.values() if state and state.on and state.name not in going]
        return _forecast(source, going, [GLOBAL] * (GLOBAL in states) + sorted(stay))

    def has_changed_flags(self) -> bool:
        """Would flags alone decide otherwise about some module than it was decided last?"""
        return self._contradict(self.flags())

    def flags(self) -> dict[str, Decision]:
        """What flags alone say about each module, by name."""
        facts = self.facts()
        return {s.name: flagged(s.module, self.extenders.chain, facts) for s in self._states.modules}

    def facts(self) -> Facts:
        """What is known now without the cluster: its version, which flags do not need, is empty."""
        invalid = {key: str(error) for key, error in self.refused.items()}
        invalid |= {state.unit.key: state.module.problem for state in self._states.modules if state.module.problem}
        if self.unseen:
            invalid[GLOBAL] = self.unseen
        flags = {**self._config.enabled, **self._secret.enabled}
        running = frozenset(state.name for state in self._states.modules if state.live)
        unread = self._config.bad_flags | self._secret.bad_flags if CONFIG in self.extenders.chain else frozenset()
        static, dynamic = self.extenders.static, self.extenders.dynamic
        return Facts(static, dynamic, flags, invalid, running, unread=unread)

    def adopt_sections(self, flags: Mapping[str, Decision]) -> frozenset[str]:
        """Hand the configuration to the store, which validates the sections of all that are on or may come to be."""
        on = {s.unit.key for s in self._states.modules if s.on or flags[s.name].choice is Choice.ON}
        adopted = self._store.adopt(self._config, self._secret, on)
        self._report_refused(adopted.refused)
        self.refused = adopted.refused
        self.trouble.observe(bool(self.refused))
        return adopted.changed

    def _parse(self) -> tuple[Config, Config]:
        (config, words), (secret, secret_words) = map(self._parsed, self._sources.contents)
        self._remarks.report((config, secret), {*words, *secret_words})
        return config, secret

    def _parsed(self, contents: Contents) -> tuple[Config, Sequence[str]]:
        ahead = next((entry for entry in self._ahead if entry[0] is contents), None)
        return ahead[1:] if ahead else parse_with_words(contents.data, self.extenders.as_addon)

    def _is_decisive(self, bad: frozenset[str], flags: Mapping[str, Decision]) -> bool:
        """What was bad and is good again may decide about its module, as flags and global values do about any."""
        return bool(bad - self.bad) or self._contradict(flags)

    def _contradict(self, flags: Mapping[str, Decision]) -> bool:
        return any(contradicts(flags[s.name], s.decision) for s in self._states.modules)

    def _hold_values(self, flags: Mapping[str, Decision]) -> None:
        """Modules that flags turn off keep the values that they last ran with: an edit may remove these as well."""
        for state in self._states.modules:
            if state.live and flags[state.name].choice is Choice.OFF:
                self._store.hold(state.unit.key)

    def _renew_reasons(self, flags: Mapping[str, Decision]) -> None:
        """A module that is undecided, and whose section was edited without success, has the present error as reason."""
        facts = self.facts()
        for state in self._states.modules:
            if state.decision.choice is Choice.UNDECIDED and not state.decision.by and state.decision is not NOT_YET:
                state.decide(uncertain(state.module, flags[state.name], facts) or state.decision)

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
                _log.error(f"section of the configuration refused; {fate}", error=error)
                self._states.notices.publish(Notice(key, "ConfigRejected", f"{error}; {fate}"))
        for key in self.refused.keys() - refused.keys():
            message = f"{key}: the section is used again"
            self._states.notices.publish(Notice(key, "ConfigAccepted", message, bad=False))

    def _fate(self, key: str) -> str:
        """What follows from the refusal of this section. At a start there is no last good one."""
        module = self._states.by_key.get(key)
        concerned = [module] if module else self._states.modules
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
            return any(state.live for state in self._states.modules)
        return bool(self._off_without(source))

    def _off_without(self, source: ConfigObject) -> list[ModuleState]:
        """Modules that are installed, and that flags would turn off if the source were empty."""
        other = self._secret if source is self._sources.config else self._config
        facts = replace(self.facts(), config=other.enabled)
        chain = self.extenders.chain
        return [s for s in self._states.modules if s.live and flagged(s.module, chain, facts).choice is Choice.OFF]


def _is_large(contents: Contents) -> bool:
    return size_of(contents.data) > READING.in_place


def _differences(before: Mapping[str, bool], after: Mapping[str, bool]) -> frozenset[str]:
    return frozenset(key for key in {*before, *after} if bool(before.get(key)) != bool(after.get(key)))


def _forecast(source: ConfigObject, going: Collection[str], poorer: Collection[str]) -> str:
    """What follows if a source stays missing: names of modules that go, and sections that lose values."""
    fate = "is deleted" if source.contents.version else "does not exist"
    parts = [f"uninstalled: {', '.join(going)}"] * bool(going) + [f"values lost: {', '.join(poorer)}"] * bool(poorer)
    if not parts:
        return f"{source} {fate}; {NOTHING_LOST}"
    return f"{source} {fate}; unless it is created before {rfc3339(source.grace.until)}, {'; '.join(parts)}"


def _with_dependents(going: Iterable[str], installed: Collection[Module]) -> list[str]:
    """The names of modules that go, and of those that require one of them, in order."""
    names = set(going)
    while more := {m.name for m in installed if m.name not in names and names & {name for name, _ in m.traits.modules}}:
        names |= more
    return [module.name for module in installed if module.name in names]


class MissingSources:
    """Reports sources of the configuration that are missing, once for each grace, and the ends of their graces."""

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._reported: dict[ConfigObject, float] = {}

    def report(self, source: ConfigObject, message: str) -> None:
        """It is missing."""
        if self._reported.get(source) != source.grace.until:
            self._reported[source] = source.grace.until
            _log.warn("part of the configuration is missing", what=message)
            self._notices.publish(Notice(str(source), "ConfigDeleted", message))

    def report_ends(self, sources: Iterable[ConfigObject]) -> None:
        """Report those that exist again, or count as deleted now."""
        for source in sources:
            if not source.grace.running and self._reported.pop(source, 0.0):
                exists = bool(source.contents.version)
                fate = "is there again" if exists else "counts as deleted from now on"
                reason = "ConfigRestored" if exists else "ConfigDropped"
                _log.info("missing part of the configuration has come or gone", what=f"{source} {fate}")
                self._notices.publish(Notice(str(source), reason, f"{source} {fate}", bad=not exists))


class ConfigRemarks:
    """Reports sections of unknown modules, and words that YAML 1.1 and 1.2 read differently: each once, and not at
    every edit of something else. `as_addon`: `global` is read as it has always been, so its words are not reported."""

    def __init__(self, states: UnitStates, as_addon: bool) -> None:
        self._states = states
        self._as_addon = as_addon
        self._unknown: frozenset[str] = frozenset()
        self._words: frozenset[str] = frozenset()

    def report(self, configs: Sequence[Config], words: Collection[str]) -> None:
        """Report what is new: sections, and the paths of words that are read differently."""
        self._report_unknown(configs)
        self._report_words(words)

    def _report_unknown(self, configs: Sequence[Config]) -> None:
        known = {GLOBAL, *(state.unit.key for state in self._states.modules)}
        keys = {key for c in configs for key in (*c.sections, *c.problems, *c.enabled, *c.maintenance)}
        before, self._unknown = self._unknown, frozenset(keys - known)
        if self._unknown - before:
            sections = ", ".join(sorted(self._unknown))
            _log.warn("the configuration has sections of unknown modules", sections=sections)
        for key in sorted(self._unknown - before):
            message = f"{key}: there is no module of this name"
            self._states.notices.publish(Notice(key, "UnknownModule", message))

    def _report_words(self, words: Collection[str]) -> None:
        before, self._words = self._words, frozenset(words)
        new = sorted(self._words - before)
        shared = [path for path in new if path.startswith(f"/{GLOBAL}/")]
        others = [path for path in new if path not in shared]
        if shared and not self._as_addon:
            _log.warn("unquoted words such as off and yes are true or false here", keys=some(shared), hint=_HINT)
        if others:
            text = "unquoted words such as off and yes are texts here, but true or false in values.yaml"
            _log.warn(text, keys=some(others), hint=_HINT)


class TroubleCounter:
    """Counts one when trouble begins and one for every five seconds that it lasts, when it is read: no timer keeps it
    up to date. `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since: float | None = None
        self._over = 0

    def observe(self, trouble: bool) -> None:
        """From now on there is trouble, or not."""
        if not trouble:
            self._over, self._since = self.count, None
        elif self._since is None:
            self._since = self._clock()

    @property
    def count(self) -> int:
        """All trouble so far."""
        lasting = 0 if self._since is None else 1 + int((self._clock() - self._since) / TROUBLE_EVERY)
        return self._over + lasting
