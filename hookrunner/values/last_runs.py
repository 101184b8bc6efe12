"""The values with which modules last ran.

A module that will be deleted keeps them until its deletion has ended: its hooks clean up after the values that they
know, although the user may have removed these in the same edit that turns the module off.
"""

from dataclasses import dataclass, replace

from hookrunner.model.resources import JSON
from hookrunner.values.layers import LayerSchemas
from hookrunner.values.section import Section


class NoSchemas:
    """No schemas: all values are allowed."""

    config = values = helm = None


@dataclass(frozen=True, slots=True)
class LastRun:
    """The two sections that a module's hooks see: `global` and the module's own."""

    shared: Section
    own: Section

    def refreshed(self, now: Section) -> "LastRun":
        """The same with what hooks have patched in memory until now."""
        return self if self.own.patches is now.patches else self.with_own(replace(self.own, patches=now.patches))

    def with_own(self, own: Section) -> "LastRun":
        """The same with another section of the module."""
        return replace(self, own=own.computed())

    @property
    def sections(self) -> tuple[Section, Section]:
        """Both."""
        return self.shared, self.own


class LastRuns:
    """The last runs by the modules' keys. Modules in `held` will be deleted, and their hooks see the held values."""

    def __init__(self) -> None:
        self.held: dict[str, LastRun] = {}
        self._ran: dict[str, LastRun] = {}

    def begin(self, key: str, run: LastRun) -> None:
        """Note that the module runs with these values now."""
        self._ran[key] = run
        self.held.pop(key, None)

    def hold(self, key: str, now: Section) -> None:
        """Hold the module's values until it is deleted. Values of a run in an earlier process are not known here."""
        if key not in self.held and (run := self._ran.get(key)):
            self.held[key] = run.refreshed(now)

    def hold_recorded(self, key: str, values: JSON, config: tuple[JSON, JSON]) -> None:
        """The same for a module that an earlier process ran. `values` are those of its release, by section; `config` is
        what users set now for `global` and for the module."""
        shared, own = (
            _recorded(section, values, user_config)
            for section, user_config in zip(("global", key), config, strict=True)
        )
        self.held[key] = LastRun(shared, own)

    def forget(self, key: str) -> None:
        """Drop what is known of the module, because its deletion has ended."""
        self._ran.pop(key, None)
        self.held.pop(key, None)


def _recorded(key: str, values: JSON, config: JSON) -> Section:
    """A section whose effective values are known, but not the layers that set them."""
    section = Section(key, values.get(key) or {}, _FREE).computed()
    return replace(section, plain=config, config=config)


_FREE: LayerSchemas = NoSchemas()
