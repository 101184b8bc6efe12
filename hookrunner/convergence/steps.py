"""What a converge does beside running hooks and modules: decide, apply definitions, clean up after the first round
(addon-operator.md §5.4, §6.9)."""

import asyncio
from collections.abc import Collection

from hookrunner import log
from hookrunner.convergence.deciding import Deciding
from hookrunner.convergence.definitions import Definitions
from hookrunner.convergence.hooks import ModuleHooks
from hookrunner.convergence.releasing import Releasing
from hookrunner.convergence.state import State, States
from hookrunner.errors import HookrunnerError, KubeError
from hookrunner.model.modules import Choice
from hookrunner.model.resources import JSON
from hookrunner.model.values import GLOBAL
from hookrunner.settings import ModulesSettings
from hookrunner.values.store import Store

_log = log.get("converge")


class Converge:
    """The steps of `rounds.Steps`."""

    def __init__(
        self,
        settings: ModulesSettings,
        states: States,
        deciding: Deciding,
        hooks: ModuleHooks,
        releasing: Releasing,
        definitions: Definitions,
        store: Store,
        certain: bool,
    ) -> None:
        self._settings = settings
        self._states = states
        self._deciding = deciding
        self._hooks = hooks
        self._releasing = releasing
        self._definitions = definitions
        self._store = store
        self._certain = certain
        self._looked = False
        self.purge = "not yet"

    async def decide(self) -> None:
        """Who is on; whose release is there from an earlier life counts as live."""
        await self._look()
        await self._deciding.decide()

    async def define(self, states: list[State]) -> None:
        """Apply the definitions of all of them, before any is run. A module whose definitions fail tries again when it
        is run itself."""
        results = await asyncio.gather(*(self._definitions.apply(state) for state in states), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, HookrunnerError):
                raise result

    def still(self, state: State) -> None:
        """No more ticks for a module that is about to go."""
        self._hooks.still(state)

    def global_values(self) -> JSON:
        """The global section."""
        return self._store.effective(GLOBAL)

    async def clean_up(self) -> None:
        """Remove releases that are ours and that no module is called after (design.md §4.2). As long as it is not
        certain which modules there are, nothing is removed."""
        undecided = [state.module.name for state in self._states if state.decision.choice is Choice.UNDECIDED]
        if not len(self._states) or undecided or not self._certain or not self._looked:
            self.purge = "skipped: " + ("undecided: " + ", ".join(undecided) if undecided else "no modules were found")
            _log.warn("Nothing is purged.", why=self.purge)
            return
        heads = await self._releasing.heads()
        known = {state.module.name for state in self._states}
        gone = [name for name in sorted(heads, reverse=True) if self._purgeable(name, heads[name].owned, known)]
        for name in gone:
            await self._purge(name)
        self.purge = f"removed {', '.join(gone)}" if gone else "nothing to remove"

    async def _look(self) -> None:
        """See what an earlier life has left, once. As long as that is not known, nothing is deleted for its sake."""
        if self._looked:
            return
        try:
            await self._deciding.see_cluster()
            heads = await self._releasing.heads()
        except KubeError as error:
            _log.error("Releases of an earlier life cannot be looked for.", error=str(error))
            return
        self._looked = True
        for state in self._states:
            state.live = state.module.name in heads and heads[state.module.name].owned

    def _purgeable(self, name: str, owned: bool, known: Collection[str]) -> bool:
        return owned and name not in known and name not in self._settings.ignored_releases

    async def _purge(self, name: str) -> None:
        _log.info("A release that no module wants any more is removed.", release=name)
        try:
            await self._releasing.purge(name)
        except HookrunnerError as error:
            _log.error("A release could not be removed.", release=name, error=str(error))
