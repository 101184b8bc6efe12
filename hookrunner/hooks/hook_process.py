"""Runs hooks, each by the carrier that its configuration asks for. A carrier brings a run to the hook and its answer
back; nothing else in the program knows which one it was."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from hookrunner.model.bindings import Hook
from hookrunner.model.contexts import Context, Snapshots
from hookrunner.model.hook_runs import DEFAULT_OPTIONS, Run, RunOptions, RunResult, Values
from hookrunner.model.status import ResidentDump
from hookrunner.process.children import Children
from hookrunner.process.output import HookLog, LineSink
from hookrunner.settings import HooksSettings


class Carrier(Protocol):
    """Brings runs to hooks and their answers back."""

    async def carry(self, run: Run, sink: LineSink) -> RunResult:
        """Run the hook once; the sink gets what it prints meanwhile.

        Raises ExitedBadly if the hook failed, BadOutput if its answer cannot be read, HookFailed if it could not even
        be started. Cancelled, it ends what it has started.
        """


class KeepingCarrier(Carrier, Protocol):
    """A carrier that keeps processes from one run to the next."""

    def states(self) -> Iterator[tuple[Hook, ResidentDump]]:
        """What is shown of the processes of each hook."""

    def retire(self, hook: Hook) -> None:
        """The hook is removed: end its processes when they have answered."""

    async def close(self) -> int:
        """End all processes. Runs are asked to end soon; returns how many had to be ended."""


class HookProcesses:
    """Runs hooks with the settings that all of them share."""

    def __init__(self, settings: HooksSettings, children: Children) -> None:
        self._proxy_json = settings.proxy_json
        self._settings = settings
        self._children = children
        self._files: Carrier | None = None
        self._lines: KeepingCarrier | None = None

    async def run(
        self,
        hook: Hook,
        contexts: Sequence[Context],
        snapshots: Snapshots,
        options: RunOptions = DEFAULT_OPTIONS,
        values: Values | None = None,
    ) -> RunResult:
        """Run the hook once with these contexts and read what it answered. Its output goes to the log. `values` are
        for a hook that has a module. Raises as `Carrier.carry`."""
        return await self.carry(Run(hook, contexts, snapshots, options, values), HookLog(self._proxy_json))

    async def carry(self, run: Run, sink: LineSink) -> RunResult:
        """As `Carrier.carry`, by the carrier of the hook."""
        return await self._carrier_of(run.hook).carry(run, sink)

    def residents(self) -> "Iterator[tuple[Hook, ResidentDump]]":
        """What is shown of the processes of each resident hook."""
        return self._lines.states() if self._lines else iter(())

    def retire(self, hook: Hook) -> None:
        """The hook is removed: end what is kept for it, when its runs have ended."""
        if self._lines:
            self._lines.retire(hook)

    async def close(self) -> int:
        """End what is kept for hooks. Runs that are under way are asked to end soon; returns how many had to be
        ended."""
        return await self._lines.close() if self._lines else 0

    def _carrier_of(self, hook: Hook) -> Carrier:
        return self._line_carrier() if hook.config.settings.resident else self._file_carrier()

    def _file_carrier(self) -> Carrier:
        """Made for the first run: with what it imports it takes 1.5 MB."""
        if self._files is None:
            from hookrunner.hooks.file_carrier import FileCarrier
            from hookrunner.hooks.workspace import keep, make_remover

            self._files = FileCarrier(
                self._settings, self._children, keep if self._settings.keep_tmp_files else make_remover()
            )
        return self._files

    def _line_carrier(self) -> KeepingCarrier:
        """Made for the first resident hook: most programs have none, and start without the import."""
        if self._lines is None:
            from hookrunner.hooks.resident.line_carrier import LineCarrier

            self._lines = LineCarrier(self._settings, self._children, self._file_carrier())
        return self._lines
