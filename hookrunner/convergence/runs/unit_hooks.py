"""A unit's hooks while the unit is run or deleted: loaded, run in their order, made to listen, and forgotten."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from hookrunner.convergence.runs.hook_loading import CompiledHooks, LoadHooks
from hookrunner.engine import dispatch
from hookrunner.engine.engine import BindingActivator, Engine
from hookrunner.model.bindings import BindingType, Hook, by_lifecycle
from hookrunner.model.tasks import HookRun, own_queue
from hookrunner.model.unit_state import UnitState

RunHook: TypeAlias = Callable[[Hook, HookRun], Awaitable[None]]
"""Runs a hook outside of queues. Raises HookrunnerError."""


class UnitHooks:
    """The hooks of all units, run on behalf of these."""

    def __init__(
        self, load: LoadHooks, engine: Engine, activator: BindingActivator, run_hook: RunHook, compiled: CompiledHooks
    ) -> None:
        self.compiled = compiled
        self._load = load
        self._engine = engine
        self._activator = activator
        self._run_hook = run_hook

    async def load(self, state: UnitState) -> None:
        """Ask the unit's hooks for their configuration, if that was not done yet. Raises BadHookConfig for the first
        bad one, also if it states other rules for a queue than another hook; no hook is registered then."""
        if state.loaded:
            return
        catalog = await self._load(state.unit)
        for problem in catalog.problems:
            raise problem
        hooks = tuple(map(dispatch.in_own_queue, catalog.hooks))
        self._engine.register(*hooks)
        state.load_hooks(hooks)

    async def run(self, state: UnitState, type: BindingType) -> None:
        """Run those that have such a binding, one after another. Raises the first failure."""
        if type is BindingType.ON_STARTUP:
            for order in dispatch.startup_runs(state.hooks, state.activation):
                await self._run_hook(self._engine.hooks[order.hook], order)
        for hook in by_lifecycle(state.hooks, type):
            await self._run_hook(hook, dispatch.for_lifecycle(hook, type, state.activation))

    async def run_once(self, state: UnitState, type: BindingType) -> None:
        """Run those that have such a binding and have not run since the deletion began. Raises the first failure; the
        next attempt begins with the hook that failed."""
        for hook in by_lifecycle(state.hooks, type):
            if not state.has_ended(type, hook.name):
                await self._run_hook(hook, dispatch.for_lifecycle(hook, type, state.activation))
                state.end_hook(type, hook.name)

    async def synchronize(self, state: UnitState) -> None:
        """Let the hooks watch their objects, and run each Synchronization that was not run yet: here those of the
        unit's own queue, in their queues the others. Raises HookFailed, PatchFailed."""
        own = own_queue(state.name)
        for hook in state.hooks:
            orders = [replace(order, activation=state.activation) for order in await self._engine.listen(hook)]
            for order in orders:
                if order.queue != own:
                    self._engine.enqueue_once(order)
            for order in _merge_groups(order for order in orders if order.queue == own):
                await self._run_hook(hook, order)

    async def listen(self, state: UnitState, *types: BindingType) -> None:
        """Give hooks with such bindings their snapshots, if they do not watch their objects yet."""
        for hook in state.hooks:
            if not hook.config.lifecycle.keys().isdisjoint(types):
                await self._engine.listen(hook)

    async def listen_for_reviews(self, state: UnitState) -> None:
        """Give snapshots to those that the API server calls."""
        for hook in state.hooks:
            if hook.config.reviews:
                await self._engine.listen(hook)

    async def wait_for_synchronizations(self, state: UnitState) -> None:
        """Wait for the Synchronizations of the bindings that want it so."""
        await self._engine.wait_for_synchronizations(state.hooks)

    def arm_schedules(self, state: UnitState) -> None:
        """From now on its hooks run for their crontabs."""
        for hook in state.hooks:
            self._activator.arm_schedules(hook)

    def disarm_schedules(self, state: UnitState) -> None:
        """From now on they do not: the unit is about to be deleted."""
        for hook in state.hooks:
            self._activator.disarm_schedules(hook)

    def forget(self, state: UnitState) -> None:
        """Unregister the hooks. What they have written to the cluster stays."""
        for hook in state.hooks:
            self._engine.unregister(hook)
        state.forget_hooks()


def _merge_groups(runs: Iterable[HookRun]) -> Iterator[HookRun]:
    """The runs in their order; those of one group are one run, in the place of the first."""
    groups: dict[str, list[HookRun]] = {}
    for index, run in enumerate(runs):
        groups.setdefault(run.group or f"\0{index}", []).append(run)
    for first, *others in groups.values():
        yield first.merged(others)
