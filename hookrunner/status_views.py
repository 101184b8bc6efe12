"""What the HTTP servers show: readiness, what needs the user, the converge, queues, hooks, snapshots.

The servers open before hooks are loaded and before there is an engine. Until then the views say so.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from hookrunner import __version__
from hookrunner.engine.status import Conditions, Status
from hookrunner.hooks.catalog import Catalog
from hookrunner.metrics.hooks import HookMetrics
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Choice
from hookrunner.model.needs import ProgramFacts, ProgramStatus, ReadNeeds, Urgency, UserNeed, by_urgency
from hookrunner.model.status import Condition, ConvergeDump, QueueDump, SnapshotDump, some
from hookrunner.web.views.pages import DebugPages

_LOOK = 5.0
"""Seconds between two looks at the conditions."""


_LEFT_OUT = "is left out: its configuration is invalid"
_GENERAL: Mapping[str, tuple[Urgency, str]] = {
    "background": (Urgency.CRITICAL, "please report it, with the stack in the log"),
    "rights": (Urgency.FAILING, "see docs/rights.md; `hookrunner rbac` prints all that is needed"),
    "replicas": (Urgency.ADVICE, "scale the Deployment to one replica, or leave --ha out"),
}
"""Conditions that are reported as they are: how urgent, and what to do."""

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
        self.is_stopping: Callable[[], bool] = lambda: False
        self._started = clock()
        self._conditions = Conditions(clock)
        self._parts: list[ReadConditions] = []
        self._needs: list[ReadNeeds] = []
        self._left_out: list[UserNeed] = []
        self._hooks = (False, "hooks are being loaded")
        self._engine: Status | None = None

    def add(self, part: ReadConditions, needs: ReadNeeds = tuple) -> None:
        """Show a part's conditions, after those of the parts before it, and what in it needs the user."""
        self._parts.append(part)
        self._needs.append(needs)

    def add_engine(self, status: Status, hooks: Catalog) -> None:
        """Show the engine. From now on hooks count as loaded, so modules must be added before."""
        self._engine = status
        self._hooks = (True, "; ".join(f"left out: {problem.hook}" for problem in hooks.problems))
        self._left_out = [
            UserNeed(Urgency.FAILING, "hooks", problem.hook, _LEFT_OUT, "hookrunner hook lint")
            for problem in hooks.problems
        ]
        self.add(status.conditions, status.needs)

    def conditions(self) -> Sequence[Condition]:
        """The conditions for `/readyz`."""
        state = {"hooks": self._hooks}
        for part in self._parts:
            state |= {name: combine_conditions(state.get(name), new) for name, new in part().items()}
        return self._conditions.of(state)

    def needs(self) -> list[UserNeed]:
        """What needs the user, the most urgent first."""
        return self._collect_needs(self.conditions())

    def status(self) -> ProgramStatus:
        """The whole program, for `hookrunner status`."""
        conditions = self.conditions()
        ready, needs = all(condition.ready for condition in conditions), self._collect_needs(conditions)
        reason = "; ".join(_missing(conditions, {need.kind for need in needs}))
        if self.is_stopping():
            running = self._engine.running() if self._engine else []
            return ProgramStatus("stopping", ready, f"waits for {some(running)}" * bool(running), self._facts(), needs)
        return ProgramStatus("ready" if ready else "not ready", ready, reason, self._facts(), needs)

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

    def _collect_needs(self, conditions: Iterable[Condition]) -> list[UserNeed]:
        """What the parts report, and the conditions of those that report nothing else."""
        general = [
            UserNeed(_GENERAL[c.name][0], c.name, "", c.message, _GENERAL[c.name][1])
            for c in conditions
            if c.message and c.name in _GENERAL
        ]
        return by_urgency([*general, *self._left_out, *(need for part in self._needs for need in part())])

    def _facts(self) -> ProgramFacts:
        queues = self._engine.busy_queues() if self._engine else []
        facts = ProgramFacts(__version__, self._started, len(self.hooks()), len(queues), sum(queues))
        if modules := self.pages.modules:
            on = [row.ready for row in modules.rows() if row.state == Choice.ON]
            facts = replace(facts, modules=len(on), modules_ready=sum(on))
        if addons := self.pages.addons:
            healthy = [row.healthy for row in addons.rows()]
            facts = replace(facts, instances=len(healthy), instances_healthy=sum(healthy))
        if cloud := self.pages.cloud:
            dump = cloud.dump()
            facts = replace(facts, leader=dump.leader, leads=dump.leads)
        return facts


def _missing(conditions: Iterable[Condition], kinds: Collection[str]) -> Iterator[str]:
    """The conditions that do not hold, with their messages but for those whose needs are of these kinds."""
    for condition in conditions:
        if not condition.ready:
            message = "" if condition.name in kinds else condition.message
            yield f"{condition.name}: {message}" if message else condition.name


def combine_conditions(known: tuple[bool, str] | None, new: tuple[bool, str]) -> tuple[bool, str]:
    """One condition of two parts that call it the same."""
    if known is None:
        return new
    return known[0] and new[0], "; ".join(filter(None, (known[1], new[1])))
