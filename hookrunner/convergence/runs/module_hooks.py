"""A module's hooks while the module is run or deleted: loaded, run in their order, made to listen, and forgotten
(addon-operator.md §4)."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from hookrunner.convergence.runs.compiled import CompiledHooks
from hookrunner.convergence.state import ModuleState
from hookrunner.engine import dispatch
from hookrunner.engine.direct import DirectRuns
from hookrunner.engine.enabling import Enabling
from hookrunner.engine.engine import Engine
from hookrunner.hooks.catalog import Catalog
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import Module
from hookrunner.model.tasks import HookRun, own_queue

Load: TypeAlias = Callable[[Module], Awaitable[Catalog]]
"""Finds the hooks of a module and asks each what it wants."""


class ModuleHooks:
    """The hooks of all modules, run on behalf of their modules."""

    def __init__(
        self, load: Load, engine: Engine, enabling: Enabling, direct: DirectRuns, compiled: CompiledHooks
    ) -> None:
        self.compiled = compiled
        self._load = load
        self._engine = engine
        self._enabling = enabling
        self._direct = direct

    async def load(self, state: ModuleState) -> None:
        """Ask the module's hooks what they want, if they were not asked yet. Raises BadHookConfig for the first that
        is no good; nothing is taken on then."""
        if state.loaded:
            return
        found = await self._load(state.module)
        for problem in found.problems:
            raise problem
        state.load_hooks(map(dispatch.in_own_queue, found.hooks))
        for hook in state.hooks:
            self._engine.register(hook)

    async def run(self, state: ModuleState, type: BindingType) -> None:
        """Run those that have such a binding, one after another. Raises the first failure."""
        if type is BindingType.ON_STARTUP:
            for order in dispatch.startup_runs(state.hooks, state.activation):
                await self._direct.run(self._engine.hooks[order.hook], order)
        for hook in dispatch.by_lifecycle(state.hooks, type):
            await self._direct.run(hook, dispatch.for_lifecycle(hook, type, state.activation))

    async def run_once(self, state: ModuleState, type: BindingType) -> None:
        """Run those that have such a binding and have not run since the module is to go. Raises the first failure; the
        next attempt begins with the hook that failed."""
        for hook in dispatch.by_lifecycle(state.hooks, type):
            if not state.has_ended(type, hook.name):
                await self._direct.run(hook, dispatch.for_lifecycle(hook, type, state.activation))
                state.end_hook(type, hook.name)

    async def synchronize(self, state: ModuleState) -> None:
        """Let the hooks follow their objects, and run each Synchronization that was not run yet: here what belongs to
        the module's own queue, in their queues the others. Raises HookFailed, PatchFailed."""
        mine = own_queue(state.module.name)
        for hook in state.hooks:
            orders = [replace(order, activation=state.activation) for order in await self._engine.listen(hook)]
            for order in orders:
                if order.queue != mine:
                    self._engine.put_once(order)
            for order in _grouped(order for order in orders if order.queue == mine):
                await self._direct.run(hook, order)

    async def see(self, state: ModuleState, *types: BindingType) -> None:
        """Let hooks with such bindings have snapshots, if they follow their objects not yet."""
        for hook in state.hooks:
            if not hook.config.lifecycle.keys().isdisjoint(types):
                await self._engine.listen(hook)

    async def ready_to_answer(self, state: ModuleState) -> None:
        """Let those that the API server asks have snapshots."""
        for hook in state.hooks:
            if hook.config.reviews:
                await self._engine.listen(hook)

    async def synchronized(self, state: ModuleState) -> None:
        """Wait for those that are to be waited for."""
        await self._engine.synchronized(state.hooks)

    def arm_schedules(self, state: ModuleState) -> None:
        """From now on its hooks run for their crontabs."""
        for hook in state.hooks:
            self._enabling.arm_schedules(hook)

    def disarm_schedules(self, state: ModuleState) -> None:
        """They do so no more: the module is about to be deleted."""
        for hook in state.hooks:
            self._enabling.disarm_schedules(hook)

    def forget(self, state: ModuleState) -> None:
        """Nothing is left of the hooks but what they have asked for."""
        for hook in state.hooks:
            self._engine.unregister(hook)
        state.forget_hooks()


def _grouped(runs: Iterable[HookRun]) -> Iterator[HookRun]:
    """The runs in their order; those of one group are one run, in the place of the first."""
    groups: dict[str, list[HookRun]] = {}
    for place, run in enumerate(runs):
        groups.setdefault(run.group or f"\0{place}", []).append(run)
    for first, *others in groups.values():
        yield first.merged(others)
