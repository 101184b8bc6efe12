"""What the HTTP servers show: readiness, the converge, queues, hooks, snapshots.

The servers open before hooks are loaded and before there is an engine. Until then the views say so.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from hookrunner.background import Background
from hookrunner.controllers.replica_check import ReplicaCheck
from hookrunner.engine.status import Conditions, Status
from hookrunner.hooks.catalog import Catalog
from hookrunner.metrics.hooks import HookMetrics
from hookrunner.metrics.names import Metrics
from hookrunner.model.status import Condition, ConvergeDump, QueueDump, SnapshotDump
from hookrunner.web.views.addon_routes import AddonPages
from hookrunner.web.views.cloud_routes import CloudPages
from hookrunner.web.views.module_routes import Modules
from hookrunner.webhooks.lazy_webhooks import LazyWebhooks

_LOOK = 5.0
"""Seconds between two looks at the conditions."""


class AddonStatus(Protocol):
    """`instances.reports.instances_status.InstancesStatus`, imported only if there are addons."""

    def conditions(self) -> dict[str, tuple[bool, str]]: ...


class CloudStatus(Protocol):
    """`cloud.cloud_status.CloudReports`, imported only if there is a cloud."""

    def conditions(self) -> dict[str, tuple[bool, str]]: ...


class ModuleStatus(Protocol):
    """`convergence.status.ModuleStatus`, which is imported only if there are modules: that costs 0.1 s."""

    def conditions(self) -> dict[str, tuple[bool, str]]: ...

    def converge(self) -> ConvergeDump: ...


class StatusViews:
    """Reads the parts of the program that exist so far; each is added once, when it begins."""

    def __init__(self, metrics: Metrics, hook_metrics: HookMetrics, clock: Callable[[], float] = time.time) -> None:
        self.metrics = metrics
        self.hook_metrics = hook_metrics
        self._conditions = Conditions(clock)
        self._background: Background | None = None
        self._replicas: ReplicaCheck | None = None
        self._engine: Status | None = None
        self._webhooks: LazyWebhooks | None = None
        self._modules: ModuleStatus | None = None
        self._addons: AddonStatus | None = None
        self._cloud: CloudStatus | None = None
        self._module_views: Modules | None = None
        self._addon_pages: AddonPages | None = None
        self._cloud_pages: CloudPages | None = None
        self._left_out = ""

    def add_background(self, background: Background) -> None:
        """Show whether background tasks run."""
        self._background = background

    def add_replicas(self, replicas: ReplicaCheck) -> None:
        """Show whether there are other replicas."""
        self._replicas = replicas

    def add_modules(self, status: ModuleStatus, views: Modules) -> None:
        """Show the modules."""
        self._modules = status
        self._module_views = views

    def add_addons(self, status: AddonStatus, pages: AddonPages) -> None:
        """Show the instances of addons."""
        self._addons = status
        self._addon_pages = pages

    def add_cloud(self, status: CloudStatus, pages: CloudPages) -> None:
        """Show the cloud controller manager."""
        self._cloud = status
        self._cloud_pages = pages

    def add_engine(self, status: Status, hooks: Catalog, webhooks: LazyWebhooks) -> None:
        """Show the engine and the webhooks. From now on hooks count as loaded, so modules must be added before."""
        self._engine = status
        self._webhooks = webhooks
        self._left_out = "; ".join(f"left out: {problem.hook}" for problem in hooks.problems)

    def conditions(self) -> Sequence[Condition]:
        """The conditions for `/readyz`."""
        loaded = self._engine is not None
        state = {"hooks": (loaded, self._left_out if loaded else "hooks are being loaded")}
        if self._background:
            state["background"] = self._background.condition()
        for part in (self._engine, self._replicas, self._webhooks, self._modules, self._addons, self._cloud):
            if part:
                state |= {name: combine_conditions(state.get(name), new) for name, new in part.conditions().items()}
        return self._conditions.of(state)

    async def watch_conditions(self) -> None:
        """Look at the conditions every few seconds; never ends. Otherwise each would have its state since a request
        first asked for it."""
        while True:
            self.conditions()
            await asyncio.sleep(_LOOK)

    def converge(self) -> ConvergeDump:
        """The converge, for `/status/converge`."""
        return self._modules.converge() if self._modules else ConvergeDump()

    def modules(self) -> Modules | None:
        """The views of modules, None until there are modules."""
        return self._module_views

    def addons(self) -> AddonPages | None:
        """The views of addons, None until there are addons."""
        return self._addon_pages

    def cloud(self) -> CloudPages | None:
        """The views of the cloud, None until there is one."""
        return self._cloud_pages

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
