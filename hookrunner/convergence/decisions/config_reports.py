"""What is reported about the configuration, in the log and in Events: sources that are missing and what goes with them,
sections of unknown modules, words that are not read alike everywhere, and for how long something is refused."""

from collections.abc import Callable, Collection, Iterable, Sequence

from hookrunner import log
from hookrunner.convergence.decisions.config_object import ConfigObject, Contents
from hookrunner.convergence.events import Notice, Notices
from hookrunner.convergence.state import ModuleStates
from hookrunner.model.modules import GLOBAL, Module
from hookrunner.model.status import some
from hookrunner.values.config_sections import Config, old_words
from hookrunner.web.formats import rfc3339

TROUBLE_EVERY = 5.0
"""Seconds after which trouble that lasts counts once more in `config_values_errors_total`, as under addon-operator."""

_HINT = "write true or false, or put quotes around texts"
_log = log.get("config")


def forecast(source: ConfigObject, going: Collection[str], poorer: Collection[str]) -> str:
    """What follows if a source stays missing: names of modules that go, and sections that lose values."""
    fate = "is deleted" if source.contents.version else "does not exist"
    parts = [f"uninstalled: {', '.join(going)}"] * bool(going) + [f"values lost: {', '.join(poorer)}"] * bool(poorer)
    if not parts:
        return f"{source} {fate}; nothing depends on it"
    return f"{source} {fate}; unless it is created before {rfc3339(source.grace.until)}, {'; '.join(parts)}"


def with_dependents(going: Iterable[str], installed: Collection[Module]) -> list[str]:
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

    def __init__(self, states: ModuleStates, as_addon: bool) -> None:
        self._states = states
        self._as_addon = as_addon
        self._unknown: frozenset[str] = frozenset()
        self._words: frozenset[str] = frozenset()

    def report(self, configs: Sequence[Config], contents: Sequence[Contents]) -> None:
        """Report what is new in the ConfigMap and the Secret."""
        self._report_unknown(configs)
        self._report_words(contents)

    def _report_unknown(self, configs: Sequence[Config]) -> None:
        known = {GLOBAL, *(state.module.key for state in self._states)}
        keys = {key for c in configs for key in (*c.sections, *c.problems, *c.enabled, *c.maintenance)}
        before, self._unknown = self._unknown, frozenset(keys - known)
        if self._unknown - before:
            sections = ", ".join(sorted(self._unknown))
            _log.warn("the configuration has sections of unknown modules", sections=sections)
        for key in sorted(self._unknown - before):
            message = f"{key}: there is no module of this name"
            self._states.notices.publish(Notice(key, "UnknownModule", message))

    def _report_words(self, contents: Sequence[Contents]) -> None:
        before, self._words = self._words, frozenset(path for part in contents for path in old_words(part.data))
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
