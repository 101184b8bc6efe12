"""What runs and deletions of units need of other parts, as Protocols: each takes only what it uses, and a test can give
it something that remembers. The methods are described where they are implemented."""

from typing import Protocol

from hookrunner.convergence.plan import Plan
from hookrunner.convergence.runs.hook_loading import CompiledHooks
from hookrunner.model.bindings import BindingType, ReviewKind
from hookrunner.model.releases import Head
from hookrunner.model.unit_state import UnitState
from hookrunner.releases.manifest_objects import ReleaseId
from kubetypes.json_values import JSON


class AttemptSteps(Protocol):
    """The steps of a run or of a deletion: `runs.unit_runner.UnitRunner`, `runs.unit_remover.UnitRemover`."""

    async def run(self, state: UnitState) -> None: ...


class UnitWebhooks(Protocol):
    """`runs.module_webhooks.ModuleWebhooks`."""

    async def register(self, state: UnitState, kind: ReviewKind) -> None: ...
    async def withdraw(self, state: UnitState, kind: ReviewKind) -> None: ...


class Definitions(Protocol):
    """`runs.unit_runner.UnitDefinitions`."""

    async def apply(self, state: UnitState) -> None: ...


class UnitReleases(Protocol):
    """The releases of units in their runs and deletions: `runs.release_reconciler.ReleaseReconciler`."""

    async def head(self, state: UnitState) -> Head | None: ...
    async def reconcile(self, state: UnitState, plan: Plan) -> None: ...
    async def last_values(self, state: UnitState) -> JSON: ...
    async def uninstall(self, state: UnitState) -> None: ...


class Pausable(Protocol):
    """`runs.unit_releases.DriftTracker`, before something is written."""

    def pause(self, identity: ReleaseId) -> None: ...


class RunHooks(Protocol):
    """The hooks of a unit in its runs and deletions: `runs.unit_hooks.UnitHooks`."""

    compiled: CompiledHooks

    async def load(self, state: UnitState) -> None: ...
    async def run(self, state: UnitState, type: BindingType) -> None: ...
    async def run_once(self, state: UnitState, type: BindingType) -> None: ...
    async def synchronize(self, state: UnitState) -> None: ...
    async def wait_for_synchronizations(self, state: UnitState) -> None: ...
    async def listen(self, state: UnitState, *types: BindingType) -> None: ...
    def arm_schedules(self, state: UnitState) -> None: ...
    def forget(self, state: UnitState) -> None: ...
