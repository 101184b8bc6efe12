"""Runs hooks, each by the carrier that its configuration asks for. A carrier brings a run to the hook and its answer
back; nothing else in the program knows which one it was."""

from collections.abc import Sequence
from typing import Protocol

from hookrunner.hooks.file_carrier import FileCarrier
from hookrunner.hooks.workspace import keep, make_remover
from hookrunner.model.bindings import Hook
from hookrunner.model.contexts import Context, Snapshots
from hookrunner.model.hook_runs import DEFAULT_OPTIONS, Run, RunOptions, RunResult, Values
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


class HookProcesses:
    """Runs hooks with the settings that all of them share."""

    def __init__(self, settings: HooksSettings, children: Children) -> None:
        self._proxy_json = settings.proxy_json
        self._files = FileCarrier(settings, children, keep if settings.keep_tmp_files else make_remover())

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

    def _carrier_of(self, hook: Hook) -> Carrier:
        return self._files
