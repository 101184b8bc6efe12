"""Tells of sources of the configuration that are missing, in the log and in Events: what goes with them and when, and
what has become of it."""

from collections.abc import Collection, Iterable

from hookrunner import log
from hookrunner.convergence.decisions.config_object import ConfigObject
from hookrunner.convergence.notices import Item, News
from hookrunner.model.modules import Module
from hookrunner.web.formats import rfc3339

_log = log.get("config")


def forecast(source: ConfigObject, going: Collection[str], poorer: Collection[str]) -> str:
    """What comes of it that a source is missing: names of modules that go, and sections that lose values."""
    fate = "is deleted" if source.contents.version else "does not exist"
    parts = [f"uninstalled: {', '.join(going)}"] * bool(going) + [f"values lost: {', '.join(poorer)}"] * bool(poorer)
    if not parts:
        return f"{source} {fate}; nothing depends on it"
    return f"{source} {fate}; unless it is created before {rfc3339(source.grace.until)}, {'; '.join(parts)}"


def with_dependents(going: Iterable[str], installed: Collection[Module]) -> list[str]:
    """The names of modules that go, and of those that require one of them, in order."""
    found = set(going)
    while more := {m.name for m in installed if m.name not in found and found & {name for name, _ in m.traits.modules}}:
        found |= more
    return [module.name for module in installed if module.name in found]


class Missing:
    """Remembers what has been reported."""

    def __init__(self, news: News) -> None:
        self._news = news
        self._told: dict[ConfigObject, float] = {}

    def tell(self, source: ConfigObject, message: str) -> None:
        """It is missing; once for each grace."""
        if self._told.get(source) != source.grace.until:
            self._told[source] = source.grace.until
            _log.warn("part of the configuration is missing", what=message)
            self._news.tell(Item(str(source), "ConfigDeleted", message))

    def tell_of_ends(self, sources: Iterable[ConfigObject]) -> None:
        """Those that are missing no more, or count as deleted now."""
        for source in sources:
            if not source.grace.running and self._told.pop(source, 0.0):
                there = bool(source.contents.version)
                fate = "is there again" if there else "counts as deleted from now on"
                reason = "ConfigRestored" if there else "ConfigDropped"
                _log.info("missing part of the configuration has come or gone", what=f"{source} {fate}")
                self._news.tell(Item(str(source), reason, f"{source} {fate}", bad=not there))
