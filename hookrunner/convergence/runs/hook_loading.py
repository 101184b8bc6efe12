"""Which hooks a module has: they are loaded ahead of its run, and those that are compiled into addon-operator are
reported."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from itertools import dropwhile
from typing import TypeAlias

from hookrunner.background import Background
from hookrunner.convergence.events import Notice, Notices
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.errors import BadModule
from hookrunner.hooks.catalog import Catalog
from hookrunner.model.modules import GLOBAL, Phase
from hookrunner.model.status import some
from hookrunner.model.unit_state import UnitState
from hookrunner.model.units import Unit
from kubetypes.light_dataclasses import dataclass

LoadHooks: TypeAlias = Callable[[Unit], Awaitable[Catalog]]
"""Finds the hooks of a unit and asks each for its configuration."""

_Loading: TypeAlias = asyncio.Future[tuple[float, Catalog]]
"""The hooks, and when they were loaded (seconds of the loop's clock)."""

_REASON = "HooksMissing"
_PREFETCHED = 3
_FRESH = 10.0
"""Seconds for which an answer that was fetched in advance is used: files may be changed meanwhile."""


class SharedHooks:
    """Loads hooks that several units share, as instances of an addon do: they are asked for their configuration once,
    and again when their files have changed; every unit has them under its name. What cannot be used is asked again in
    the next attempt."""

    def __init__(self, load: LoadHooks) -> None:
        self._load = load
        self._catalogs: dict[str, tuple[str, Catalog]] = {}
        self._loading = asyncio.Lock()

    async def __call__(self, unit: Unit) -> Catalog:
        """The hooks of a unit."""
        async with self._loading:
            stamp, catalog = self._catalogs.get(unit.hooks_of, (None, None))
            if catalog is None or stamp != unit.stamp:
                catalog = await self._ask(unit)
        hooks = (replace(hook, name=f"{unit.name}/{hook.label}", module=unit.name) for hook in catalog.hooks)
        return replace(catalog, hooks=tuple(hooks))

    async def _ask(self, unit: Unit) -> Catalog:
        catalog = await self._load(replace(unit, name=unit.hooks_of))
        if not catalog.problems:
            self._catalogs[unit.hooks_of] = unit.stamp, catalog
        return catalog


class HookPrefetch:
    """Loads hooks, and begins with the enabled modules that come next while the present one is at work: in a start each
    module would otherwise wait for an interpreter. A retry loads everything again."""

    def __init__(self, load: LoadHooks, states: UnitStates, background: Background) -> None:
        self._load = load
        self._states = states
        self._background = background
        self._loading: dict[str, _Loading] = {}

    async def __call__(self, unit: Unit) -> Catalog:
        """The hooks of a module."""
        loading = self._loading.pop(unit.name, None)
        self._prefetch_after(unit)
        if loading:
            loaded_at, catalog = await loading
            if asyncio.get_running_loop().time() - loaded_at < _FRESH:
                return catalog
        return await self._load(unit)

    def _prefetch_after(self, unit: Unit) -> None:
        later = list(dropwhile(lambda state: state.unit is not unit, self._states.modules))[1:]
        new = [state for state in later if state.on and state.phase is Phase.STARTUP and state.busy_since is None]
        for state in new[:_PREFETCHED]:
            if state.name not in self._loading:
                loading = self._loading[state.name] = asyncio.get_running_loop().create_future()
                work = partial(self._fetch, state, loading)
                self._background.keep(f"hooks of {state.name}", work, ends=True)

    async def _fetch(self, state: UnitState, loading: _Loading) -> None:
        catalog = await self._load(state.unit)
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

    def lacking(self, state: UnitState) -> str:
        """Which hooks an enabled module lacks, for a person; empty if it lacks none."""
        return _to_text(state.unit.compiled) if state.on and state.unit.compiled else ""

    def check(self, state: UnitState) -> None:
        """A module is about to start: publish what it lacks, or raise BadModule if it should not run without."""
        missing = self.lacking(state)
        if self.parks and (missing or self.shared):
            raise BadModule(f"{missing or self.shared}; to run it without them: --on-compiled-hooks warn")
        if missing:
            self.notices.publish(Notice(state.name, _REASON, missing))

    def publish_shared(self) -> None:
        """Publish which global hooks are missing."""
        if self.names:
            self.notices.publish(Notice(GLOBAL, _REASON, self.shared))


def _to_text(names: tuple[str, ...]) -> str:
    how = "write them as executables in bash, Python or any language"
    return f"hooks are compiled into addon-operator and never run here: {some(names)}; {how}"
