"""A module's hooks while the module is run or deleted: loaded, run in their order, made to listen, and forgotten."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import dropwhile
from typing import TypeAlias

from hookrunner.background import Background
from hookrunner.convergence.events import Notice, Notices
from hookrunner.convergence.state import ModuleState, ModuleStates
from hookrunner.engine import dispatch
from hookrunner.engine.engine import BindingActivator, Engine
from hookrunner.engine.hook_executor import InlineRuns
from hookrunner.errors import BadModule
from hookrunner.hooks.catalog import Catalog
from hookrunner.model.bindings import BindingType, by_lifecycle
from hookrunner.model.modules import GLOBAL, Module, Phase
from hookrunner.model.status import some
from hookrunner.model.tasks import HookRun, own_queue

LoadHooks: TypeAlias = Callable[[Module], Awaitable[Catalog]]
"""Finds the hooks of a module and asks each for its configuration."""

_Loading: TypeAlias = asyncio.Future[tuple[float, Catalog]]
"""The hooks, and when they were loaded (seconds of the loop's clock)."""

_REASON = "HooksMissing"
_PREFETCHED = 3
_FRESH = 10.0
"""Seconds for which an answer that was fetched in advance is used: files may be changed meanwhile."""


class ModuleHooks:
    """The hooks of all modules, run on behalf of their modules."""

    def __init__(
        self, load: LoadHooks, engine: Engine, enabling: BindingActivator, direct: InlineRuns, compiled: "CompiledHooks"
    ) -> None:
        self.compiled = compiled
        self._load = load
        self._engine = engine
        self._enabling = enabling
        self._direct = direct

    async def load(self, state: ModuleState) -> None:
        """Ask the module's hooks for their configuration, if that was not done yet. Raises BadHookConfig for the first
        bad one; no hook is registered then."""
        if state.loaded:
            return
        catalog = await self._load(state.module)
        for problem in catalog.problems:
            raise problem
        state.load_hooks(map(dispatch.in_own_queue, catalog.hooks))
        for hook in state.hooks:
            self._engine.register(hook)

    async def run(self, state: ModuleState, type: BindingType) -> None:
        """Run those that have such a binding, one after another. Raises the first failure."""
        if type is BindingType.ON_STARTUP:
            for order in dispatch.startup_runs(state.hooks, state.activation):
                await self._direct.run(self._engine.hooks[order.hook], order)
        for hook in by_lifecycle(state.hooks, type):
            await self._direct.run(hook, dispatch.for_lifecycle(hook, type, state.activation))

    async def run_once(self, state: ModuleState, type: BindingType) -> None:
        """Run those that have such a binding and have not run since the deletion began. Raises the first failure; the
        next attempt begins with the hook that failed."""
        for hook in by_lifecycle(state.hooks, type):
            if not state.has_ended(type, hook.name):
                await self._direct.run(hook, dispatch.for_lifecycle(hook, type, state.activation))
                state.end_hook(type, hook.name)

    async def synchronize(self, state: ModuleState) -> None:
        """Let the hooks watch their objects, and run each Synchronization that was not run yet: here those of the
        module's own queue, in their queues the others. Raises HookFailed, PatchFailed."""
        own = own_queue(state.module.name)
        for hook in state.hooks:
            orders = [replace(order, activation=state.activation) for order in await self._engine.listen(hook)]
            for order in orders:
                if order.queue != own:
                    self._engine.put_once(order)
            for order in _merge_groups(order for order in orders if order.queue == own):
                await self._direct.run(hook, order)

    async def listen(self, state: ModuleState, *types: BindingType) -> None:
        """Give hooks with such bindings their snapshots, if they do not watch their objects yet."""
        for hook in state.hooks:
            if not hook.config.lifecycle.keys().isdisjoint(types):
                await self._engine.listen(hook)

    async def listen_for_reviews(self, state: ModuleState) -> None:
        """Give snapshots to those that the API server calls."""
        for hook in state.hooks:
            if hook.config.reviews:
                await self._engine.listen(hook)

    async def wait_for_synchronizations(self, state: ModuleState) -> None:
        """Wait for the Synchronizations of the bindings that want it so."""
        await self._engine.wait_for_synchronizations(state.hooks)

    def arm_schedules(self, state: ModuleState) -> None:
        """From now on its hooks run for their crontabs."""
        for hook in state.hooks:
            self._enabling.arm_schedules(hook)

    def disarm_schedules(self, state: ModuleState) -> None:
        """From now on they do not: the module is about to be deleted."""
        for hook in state.hooks:
            self._enabling.disarm_schedules(hook)

    def forget(self, state: ModuleState) -> None:
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


class HookPrefetch:
    """Loads hooks, and begins with the enabled modules that come next while the present one is at work: in a start each
    module would otherwise wait for an interpreter. A retry loads everything again."""

    def __init__(self, load: LoadHooks, states: ModuleStates, background: Background) -> None:
        self._load = load
        self._states = states
        self._background = background
        self._loading: dict[str, _Loading] = {}

    async def __call__(self, module: Module) -> Catalog:
        """The hooks of a module."""
        loading = self._loading.pop(module.name, None)
        self._prefetch_after(module)
        if loading:
            loaded_at, catalog = await loading
            if asyncio.get_running_loop().time() - loaded_at < _FRESH:
                return catalog
        return await self._load(module)

    def _prefetch_after(self, module: Module) -> None:
        later = list(dropwhile(lambda state: state.module is not module, self._states))[1:]
        new = [state for state in later if state.on and state.phase is Phase.STARTUP and state.busy_since is None]
        for state in new[:_PREFETCHED]:
            if state.module.name not in self._loading:
                loading = self._loading[state.module.name] = asyncio.get_running_loop().create_future()
                work = partial(self._fetch, state, loading)
                self._background.keep(f"hooks of {state.module.name}", work, ends=True)

    async def _fetch(self, state: ModuleState, loading: _Loading) -> None:
        catalog = await self._load(state.module)
        if not loading.done():
            loading.set_result((asyncio.get_running_loop().time(), catalog))


@dataclass(frozen=True, slots=True)
class CompiledHooks:
    """Hooks that are compiled into addon-operator and never run here. `names` are those of global hooks; those of a
    module stand with it. Modules run without them, and the log and `module list` say so; with `parks`
    (`--on-compiled-hooks park`) they do not run. All modules depend on global hooks, by the values that these set."""

    notices: Notices
    names: tuple[str, ...] = ()
    parks: bool = False

    @property
    def shared(self) -> str:
        """Which global hooks are missing, for a person; empty if none are."""
        return f"global {_to_text(self.names)}" if self.names else ""

    def lacking(self, state: ModuleState) -> str:
        """Which hooks an enabled module lacks, for a person; empty if it lacks none."""
        return _to_text(state.module.compiled) if state.on and state.module.compiled else ""

    def check(self, state: ModuleState) -> None:
        """A module is about to start: publish what it lacks, or raise BadModule if it should not run without."""
        missing = self.lacking(state)
        if self.parks and (missing or self.shared):
            raise BadModule(f"{missing or self.shared}; to run it without them: --on-compiled-hooks warn")
        if missing:
            self.notices.publish(Notice(state.module.name, _REASON, missing))

    def publish_shared(self) -> None:
        """Publish which global hooks are missing."""
        if self.names:
            self.notices.publish(Notice(GLOBAL, _REASON, self.shared))


def _to_text(names: tuple[str, ...]) -> str:
    how = "write them as executables in bash, Python or any language"
    return f"hooks are compiled into addon-operator and never run here: {some(names)}; {how}"
