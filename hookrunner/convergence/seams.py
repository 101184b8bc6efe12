"""What the parts of convergence need of each other, as Protocols: each takes only what it uses, and a test can give it
something that remembers. The methods are described where they are implemented."""

from asyncio import Event
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from hookrunner.convergence.decisions.configuration import Edit
from hookrunner.engine.run_deadlines import RunDeadlines
from hookrunner.model.bindings import Hook, ReviewKind
from hookrunner.model.releases import Capabilities, ObjectDrift
from hookrunner.model.tasks import Order, Task
from hookrunner.model.unit_state import ModuleState, UnitState
from kubetypes.json_values import JSON


class Rounds(Protocol):
    """Converges over all units: `converge.Converge`."""

    converged: Event
    has_decided: bool

    def request(self, cause: str, at_once: bool) -> None: ...
    def wake_hooks(self) -> None: ...


class RoundTurns(Protocol):
    """Turns in a round: `turns.TurnDispatcher`."""

    def close(self) -> None: ...
    def open(self, cause: str) -> None: ...
    async def wait_until_over(self) -> None: ...
    async def wait_for_deletion(self, state: UnitState) -> None: ...


class FirstRuns(Protocol):
    """Runs of those whose turn has come: `runs.unit_tasks.UnitTasks`."""

    def now(self) -> float: ...
    def give_turn(self, state: UnitState, cause: str) -> None: ...


class RunRequests(Protocol):
    """Requests for runs, and the end of back-offs: the same."""

    def request(self, state: UnitState, cause: str) -> None: ...
    def retry_now(self, name: str) -> None: ...


class RoundTasks(Protocol):
    """What a round requests and counts: `runs.unit_tasks.UnitTasks`."""

    @property
    def activation(self) -> str: ...
    def now(self) -> float: ...
    def label(self, activation: str) -> None: ...
    def count_round(self, seconds: float) -> None: ...
    def request_deletion(self, state: UnitState, cause: str) -> None: ...


class Edits(Protocol):
    """What users configure: `decisions.configuration.UserConfiguration`."""

    async def read_ahead(self) -> None: ...
    def adopt(self) -> Edit: ...
    def has_changed_flags(self) -> bool: ...


class EditDecisions(Protocol):
    """What an edit means for modules with scripts: `decisions.module_decisions.ModuleDecisions`."""

    @property
    def configuration(self) -> Edits: ...
    def is_outdated(self, state: UnitState) -> bool: ...
    async def contradicts(self, state: ModuleState) -> bool: ...


class Certainty(Protocol):
    """What a round knows of decisions: `decisions.module_decisions.ModuleDecisions`."""

    @property
    def doubt(self) -> str: ...
    @property
    def is_unsure(self) -> bool: ...
    def global_values(self) -> JSON: ...
    async def decide(self) -> bool: ...


class MissingConfig(Protocol):
    """`decisions.configuration.UserConfiguration`, when it is known what is installed."""

    def weigh_missing(self) -> None: ...


class RoundDecisions(Certainty, Protocol):
    """The same, with the configuration that decides."""

    @property
    def configuration(self) -> MissingConfig: ...


class Steps(Protocol):
    """The steps of a round: `converge.RoundSteps`."""

    @property
    def decisions(self) -> Certainty: ...
    async def decide(self) -> None: ...
    async def prepare_deletions(self, states: Sequence[UnitState]) -> None: ...
    async def define(self, states: Sequence[UnitState]) -> None: ...
    async def clean_up(self) -> None: ...


class GlobalHooks(Protocol):
    """Hooks around a round: `engine.engine.Engine`."""

    @property
    def hooks(self) -> Mapping[str, Hook]: ...
    async def wait_for_start(self) -> None: ...
    def enqueue_once(self, order: Order) -> Task: ...
    def let_modules_tick(self) -> None: ...
    def wake(self) -> None: ...


class ArmedHooks(Protocol):
    """`runs.unit_hooks.UnitHooks`, before a deletion."""

    def disarm_schedules(self, state: UnitState) -> None: ...


class ResumedWebhooks(Protocol):
    """The same, in a round."""

    async def resume(self) -> None: ...
    async def withdraw(self, state: UnitState, kind: ReviewKind) -> None: ...


class EarlierReleases(Protocol):
    """What earlier processes have left: `runs.unit_releases.Leftovers`."""

    async def look(self) -> bool: ...
    async def clean_up(self) -> None: ...


class WatchedReleases(Protocol):
    """Releases between runs: `runs.release_reconciler.ReleaseReconciler`."""

    def needs_repair(self, state: UnitState, finding: ObjectDrift) -> bool: ...
    async def is_broken(self, state: UnitState) -> bool: ...
    def may_depend(self, state: UnitState, before: Capabilities, present: Capabilities) -> bool: ...


class ForgetfulExecutor(Protocol):
    """`engine.hook_executor.HookExecutor`, when a unit is deleted."""

    @property
    def deadlines(self) -> RunDeadlines: ...
    async def forget_module(self, module: str) -> None: ...


class ServedNow(Protocol):
    """What the cluster serves: `kube.discovery.ClusterCapabilities`."""

    async def get(self) -> Capabilities: ...


class ServedKinds(ServedNow, Protocol):
    """The same, and when it changes."""

    def changes(self) -> AsyncIterator[Capabilities]: ...
