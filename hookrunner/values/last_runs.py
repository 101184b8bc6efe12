"""What modules last ran with.

A module that is about to go keeps it until its deletion has ended: its hooks clean up after the values that they know,
though the user may have taken these away in the edit that turns the module off.
"""

from dataclasses import dataclass, replace

from hookrunner.model.resources import JSON
from hookrunner.values.layers import Schemas
from hookrunner.values.section import Section


class Free:
    """No schemas: everything is allowed."""

    config = values = helm = None


@dataclass(frozen=True, slots=True)
class LastRun:
    """The two sections that a module's hooks see: `global` and the module's own."""

    shared: Section
    own: Section

    def refreshed(self, now: Section) -> "LastRun":
        """With what hooks have patched in memory up to now."""
        return self if self.own.patches is now.patches else self.with_own(replace(self.own, patches=now.patches))

    def with_own(self, own: Section) -> "LastRun":
        """With another section of its own."""
        return replace(self, own=own.computed())

    @property
    def sections(self) -> tuple[Section, Section]:
        """Both."""
        return self.shared, self.own


class LastRuns:
    """By the modules' keys. Those in `held` are about to go, and their hooks see what is held."""

    def __init__(self) -> None:
        self.held: dict[str, LastRun] = {}
        self._ran: dict[str, LastRun] = {}

    def begin(self, key: str, run: LastRun) -> None:
        """The module runs with this now."""
        self._ran[key] = run
        self.held.pop(key, None)

    def hold(self, key: str, now: Section) -> None:
        """The module is about to go. What it ran with in an earlier process is not known."""
        if key not in self.held and (run := self._ran.get(key)):
            self.held[key] = run.refreshed(now)

    def hold_recorded(self, key: str, values: JSON, config: tuple[JSON, JSON]) -> None:
        """The same for a module that an earlier process ran. `values` are those of its release, by section; `config` is
        what users say now of `global` and of the module."""
        shared, own = (_recorded(section, values, said) for section, said in zip(("global", key), config, strict=True))
        self.held[key] = LastRun(shared, own)

    def forget(self, key: str) -> None:
        """The module's deletion has ended."""
        self._ran.pop(key, None)
        self.held.pop(key, None)


def _recorded(key: str, values: JSON, config: JSON) -> Section:
    """A section whose effective values are known, though not from which layers they came."""
    section = Section(key, values.get(key) or {}, _FREE).computed()
    return replace(section, plain=config, config=config)


_FREE: Schemas = Free()
