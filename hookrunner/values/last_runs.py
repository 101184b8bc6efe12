"""The values with which modules last ran: hooks of a deletion clean up after these."""

from dataclasses import dataclass, replace

from hookrunner.values.section import NO_SCHEMAS, Section
from kubetypes.json_values import JSON


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


class LastRuns:
    """The values with which modules last ran, by the modules' keys.

    A module that will be deleted keeps them until its deletion has ended (`held`): its hooks clean up after the values
    that they know, although the user may have removed these in the same edit that turns the module off."""

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

    def hold_recorded(self, values: JSON, shared: Section, own: Section) -> None:
        """The same for a module that an earlier process ran. `values` are those of its release, by section; the two
        sections, `global` and its own, are as they are now."""
        self.held[own.id] = LastRun(_recorded(shared, values), _recorded(own, values))

    def forget(self, key: str) -> None:
        """Drop what is known of the module, because its deletion has ended."""
        self._ran.pop(key, None)
        self.held.pop(key, None)


def _recorded(now: Section, values: JSON) -> Section:
    """A section whose effective values are known, but not the layers that set them. Its config is that of now."""
    section = Section(now.key, values.get(now.key) or {}, NO_SCHEMAS, unit=now.unit).computed()
    return replace(section, plain=now.config, config=now.config)
