"""The CustomResourceDefinitions that modules have in `crds/`: applied once in each life of this process, before
anything else of theirs, and again if somebody takes them away (addon-operator.md §6.9)."""

import asyncio
from collections.abc import Mapping

from hookrunner.charts.chart_files import crds
from hookrunner.convergence.runs.capabilities import KnownCapabilities
from hookrunner.convergence.state import ModuleState
from hookrunner.releases.crds import Crds


class Definitions:
    """Applies definitions. `labels` go on all of them; files whose names begin with one of `skipped` are none."""

    def __init__(
        self, ensured: Crds, known: KnownCapabilities, labels: Mapping[str, str], skipped: tuple[str, ...]
    ) -> None:
        self._crds = ensured
        self._known = known
        self._labels = labels
        self._skipped = skipped

    async def apply(self, state: ModuleState) -> None:
        """Apply those of a module, unless that was done. Raises BadChart, ReleaseFailed, KubeError."""
        if state.has_definitions:
            return
        found = await asyncio.to_thread(crds, state.module.directory, self._skipped)
        kinds = await self._crds.ensure(found, self._labels) if found else ()
        if found:
            self._known.forget()
        state.set_definitions(kinds)
