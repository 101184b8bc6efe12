"""What a round does beside running hooks and modules: the one place that knows what belongs to each step
(addon-operator.md §5.4)."""

import asyncio

from hookrunner import log
from hookrunner.convergence.decisions.module_decisions import Deciding
from hookrunner.convergence.runs.definitions import Definitions
from hookrunner.convergence.runs.leftovers import Leftovers
from hookrunner.convergence.runs.module_hooks import ModuleHooks
from hookrunner.convergence.runs.module_webhooks import ModuleWebhooks
from hookrunner.convergence.state import ModuleState

_log = log.get("crds")


class Steps:
    """Decide, define, clean up."""

    def __init__(
        self,
        deciding: Deciding,
        hooks: ModuleHooks,
        webhooks: ModuleWebhooks,
        definitions: Definitions,
        leftovers: Leftovers,
    ) -> None:
        self.deciding = deciding
        self._hooks = hooks
        self._definitions = definitions
        self._leftovers = leftovers
        self._webhooks = webhooks

    async def decide(self) -> None:
        """Say of each module whether it is on, and which of the others are still there; have webhooks answered that
        are registered since an earlier life."""
        if await self._leftovers.look():
            self.deciding.weigh_missing()
        await self.deciding.decide()
        await self._webhooks.resume()

    async def prepare_deletions(self, states: list[ModuleState]) -> None:
        """Disarm the schedules of modules that go, and withdraw their webhooks of admission, all at once. What fails is
        tried again when the module is deleted."""
        for state in states:
            self._hooks.disarm_schedules(state)
        await asyncio.gather(*(self._webhooks.withdraw(s, "admission") for s in states), return_exceptions=True)

    async def define(self, states: list[ModuleState]) -> None:
        """Apply the definitions of these modules, before any is run. A module whose definitions fail tries again when
        it is run itself, and fails with them; nobody else waits for it."""
        results = await asyncio.gather(*(self._definitions.apply(state) for state in states), return_exceptions=True)
        for state, result in zip(states, results, strict=True):
            if isinstance(result, Exception):
                _log.warn("definitions of a module were not applied", module=state.module.name, error=str(result))

    async def clean_up(self) -> None:
        """After a round: remove what no module wants any more, once it is certain what that is."""
        await self._webhooks.resume()
        await self._leftovers.clean_up()
