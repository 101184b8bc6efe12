"""What the HTTP servers show: readiness, the converge, queues, hooks, snapshots.

The servers open before hooks are loaded and before there is an engine. Until then the views say so.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from hookrunner.engine.status import Conditions, Status
from hookrunner.hooks.catalog import Catalog
from hookrunner.metrics.hooks import HookMetrics
from hookrunner.metrics.names import Metrics
from hookrunner.model.status import Condition, ConvergeDump, QueueDump, SnapshotDump
from hookrunner.web.views.pages import DebugPages

_LOOK = 5.0
"""Seconds between two looks at the conditions."""


ReadConditions: TypeAlias = Callable[[], Mapping[str, tuple[bool, str]]]
"""Conditions of a part of the program: for each whether it holds, and a message."""


class StatusViews:
    """Reads the parts of the program that exist so far; each adds its conditions and its pages when it begins, modules
    also the converge."""

    def __init__(self, metrics: Metrics, hook_metrics: HookMetrics, clock: Callable[[], float] = time.time) -> None:
        self.metrics = metrics
        self.hook_metrics = hook_metrics
        self.pages = DebugPages()
        self.read_converge: Callable[[], ConvergeDump] = ConvergeDump
        self._conditions = Conditions(clock)
        self._parts: list[ReadConditions] = []
        self._hooks = (False, "hooks are being loaded")
        self._engine: Status | None = None

    def add(self, part: ReadConditions) -> None:
        """Show a part's conditions, after those of the parts before it."""
        self._parts.append(part)

    def add_engine(self, status: Status, hooks: Catalog) -> None:
        """Show the engine. From now on hooks count as loaded, so modules must be added before."""
        self._engine = status
        self._hooks = (True, "; ".join(f"left out: {problem.hook}" for problem in hooks.problems))
        self.add(status.conditions)

    def conditions(self) -> Sequence[Condition]:
        """The conditions for `/readyz`."""
        state = {"hooks": self._hooks}
        for part in self._parts:
            state |= {name: combine_conditions(state.get(name), new) for name, new in part().items()}
        return self._conditions.of(state)

    async def watch_conditions(self) -> None:
        """Look at the conditions every few seconds; never ends. Otherwise each would have its state since a request
        first asked for it."""
        while True:
            self.conditions()
            await asyncio.sleep(_LOOK)

    def converge(self) -> ConvergeDump:
        """The converge, for `/status/converge`."""
        return self.read_converge()

    def queues(self) -> Sequence[QueueDump]:
        """The queues, for `queue list`."""
        return self._engine.queues() if self._engine else []

    def hooks(self) -> Sequence[str]:
        """The names of hooks, for `hook list`."""
        return self._engine.hooks() if self._engine else []

    def snapshots(self, hook: str) -> Sequence[SnapshotDump] | None:
        """The snapshots of a hook, for `hook snapshot`. None if there is no such hook."""
        return self._engine.snapshots(hook) if self._engine else None


def combine_conditions(known: tuple[bool, str] | None, new: tuple[bool, str]) -> tuple[bool, str]:
    """One condition of two parts that call it the same."""
    if known is None:
        return new
    return known[0] and new[0], "; ".join(filter(None, (known[1], new[1])))
