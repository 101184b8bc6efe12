"""Hooks of modules are asked for their configuration while the modules before them are still at work.

In a start each module would otherwise wait for an interpreter once more than it has to.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import dropwhile
from typing import TypeAlias

from hookrunner.background import Background
from hookrunner.convergence.state import ModuleState, ModuleStates
from hookrunner.hooks.catalog import Catalog
from hookrunner.model.modules import Module, Phase

Load: TypeAlias = Callable[[Module], Awaitable[Catalog]]
"""Finds the hooks of a module and asks each what it wants."""

_Begun: TypeAlias = asyncio.Future[tuple[float, Catalog]]
"""The hooks, and when they were loaded (seconds of the loop's clock)."""

_NEXT = 3
_FRESH = 10.0
"""Seconds for which an answer holds: its files may be changed meanwhile."""


class Ahead:
    """Loads, and begins with the modules that are on and come next. Whoever tries again has everything loaded anew."""

    def __init__(self, load: Load, states: ModuleStates, background: Background) -> None:
        self._load = load
        self._states = states
        self._background = background
        self._begun: dict[str, _Begun] = {}

    async def __call__(self, module: Module) -> Catalog:
        """The hooks of a module."""
        begun = self._begun.pop(module.name, None)
        self._begin(module)
        if begun:
            at, found = await begun
            if asyncio.get_running_loop().time() - at < _FRESH:
                return found
        return await self._load(module)

    def _begin(self, module: Module) -> None:
        coming = list(dropwhile(lambda state: state.module is not module, self._states))[1:]
        new = [state for state in coming if state.on and state.phase is Phase.STARTUP and state.busy_since is None]
        for state in new[:_NEXT]:
            if state.module.name not in self._begun:
                begun = self._begun[state.module.name] = asyncio.get_running_loop().create_future()
                self._background.keep(f"hooks of {state.module.name}", partial(self._loaded, state, begun), ends=True)

    async def _loaded(self, state: ModuleState, begun: _Begun) -> None:
        found = await self._load(state.module)
        if not begun.done():
            begun.set_result((asyncio.get_running_loop().time(), found))
