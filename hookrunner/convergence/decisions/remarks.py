"""What is remarkable in the configuration, though it is used: sections of unknown modules, and words that are not read
alike everywhere. Each is logged once, and not at every edit of something else."""

from collections.abc import Sequence

from hookrunner import log
from hookrunner.convergence.decisions.config_object import Contents
from hookrunner.convergence.notices import Item
from hookrunner.convergence.state import ModuleStates
from hookrunner.model.status import some
from hookrunner.model.values import GLOBAL
from hookrunner.values.config_sections import Config, old_words

_HINT = "write true or false, or put quotes around texts"
_log = log.get("config")


class Remarks:
    """Remembers what has been logged. `as_addon`: `global` is read as it has always been; its words are not logged."""

    def __init__(self, states: ModuleStates, as_addon: bool) -> None:
        self._states = states
        self._as_addon = as_addon
        self._strangers: frozenset[str] = frozenset()
        self._words: frozenset[str] = frozenset()

    def tell(self, configs: Sequence[Config], contents: Sequence[Contents]) -> None:
        """What is new in the ConfigMap and the Secret."""
        self._tell_of_strangers(configs)
        self._tell_of_words(contents)

    def _tell_of_strangers(self, configs: Sequence[Config]) -> None:
        known = {GLOBAL, *(state.module.key for state in self._states)}
        named = {key for one in configs for key in (*one.sections, *one.problems, *one.enabled, *one.maintenance)}
        before, self._strangers = self._strangers, frozenset(named - known)
        if self._strangers - before:
            sections = ", ".join(sorted(self._strangers))
            _log.warn("The configuration has sections of modules that are not there.", sections=sections)
        for key in sorted(self._strangers - before):
            self._states.news.tell(Item(key, "UnknownModule", f"{key}: there is no module of this name"))

    def _tell_of_words(self, contents: Sequence[Contents]) -> None:
        before, self._words = self._words, frozenset(place for one in contents for place in old_words(one.data))
        new = sorted(self._words - before)
        shared = [place for place in new if place.startswith(f"/{GLOBAL}/")]
        others = [place for place in new if place not in shared]
        if shared and not self._as_addon:
            _log.warn("unquoted words such as off and yes are true or false here", keys=some(shared), hint=_HINT)
        if others:
            text = "unquoted words such as off and yes are texts here, but true or false in values.yaml"
            _log.warn(text, keys=some(others), hint=_HINT)
