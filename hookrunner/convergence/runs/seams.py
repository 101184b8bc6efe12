"""What runs and deletions of units need of other parts, as Protocols: each takes only what it uses, and a test can give
it something that remembers. The methods are described where they are implemented."""

from collections.abc import Iterable
from typing import Protocol

from hookrunner.convergence.plan import Plan
from hookrunner.convergence.runs.hook_loading import CompiledHooks
from hookrunner.model.bindings import BindingType, ReviewKind
from hookrunner.model.releases import Head, ObjectDrift, ReleaseOptions, ReleaseResult
from hookrunner.model.unit_state import UnitState
from hookrunner.model.units import Drift
from hookrunner.releases.manifest_objects import ReleaseId
from kubetypes.json_values import JSON


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
    def forget(self, state: UnitState) -> None: ...


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
    def disarm_schedules(self, state: UnitState) -> None: ...
    def forget(self, state: UnitState) -> None: ...


class HeadReader(Protocol):
    """Reads records: `releases.releases.Releases`, as the next ones."""

    async def read_head(self, name: str, namespace: str) -> Head | None: ...


class ManifestReader(Protocol):
    """Reads what a revision consists of."""

    async def read_manifest(self, head: Head) -> tuple[JSON, ...]: ...


class KnownReleases(HeadReader, Protocol):
    """Finds releases."""

    async def list_heads(self, namespace: str) -> dict[str, Head]: ...
    async def list_strays(self) -> dict[str, Head]: ...
    async def read_chart(self, head: Head) -> JSON: ...


class HealthyRevisions(Protocol):
    """Restores them."""

    async def restore_healthy(
        self, name: str, namespace: str, revision: int, digest: str, options: ReleaseOptions
    ) -> ReleaseResult: ...


class DriftWatches(Protocol):
    """Watches objects for drift: `releases.drift.Drift`."""

    def track(self, identity: ReleaseId, objects: Iterable[JSON], mode: Drift, options: ReleaseOptions) -> None: ...
    def pause(self, identity: ReleaseId) -> None: ...
    def forget(self, identity: ReleaseId) -> None: ...
    def known_findings(self, identity: ReleaseId) -> tuple[ObjectDrift, ...]: ...
