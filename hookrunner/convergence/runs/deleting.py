"""Takes a module away: webhooks, delete hooks, release, watches, hooks, values in memory (addon-operator.md §5.7)."""

from hookrunner import log
from hookrunner.convergence.runs.module_hooks import ModuleHooks
from hookrunner.convergence.runs.module_webhooks import ModuleWebhooks
from hookrunner.convergence.runs.release_reconciler import Releasing
from hookrunner.convergence.state import ModuleState
from hookrunner.errors import BadHookConfig
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import Phase
from hookrunner.values.store import Store

_log = log.get("module-delete")


class Deleting:
    """Knows what goes before what."""

    def __init__(self, hooks: ModuleHooks, webhooks: ModuleWebhooks, releasing: Releasing, store: Store) -> None:
        self._hooks = hooks
        self._webhooks = webhooks
        self._releasing = releasing
        self._store = store

    async def run(self, state: ModuleState) -> None:
        """Delete it. Raises what keeps it from that; the next attempt goes on with the step that failed, and no delete
        hook runs twice. A hook that cannot even say what it wants keeps no module alive (§13.6)."""
        try:
            await self._hooks.load(state)
        except BadHookConfig as error:
            _log.error("The module goes without its hooks.", module=state.module.name, error=str(error))
        await self._webhooks.withdraw(state, "admission")  # else it may be asked about its own objects that go
        # It may have been turned off before it came so far, or while nobody was there.
        await self._hooks.see(state, BindingType.BEFORE_DELETE_HELM, BindingType.AFTER_DELETE_HELM)
        if state.module.chart and await self._releasing.head(state):
            await self._recall(state)
            await self._hooks.run_once(state, BindingType.BEFORE_DELETE_HELM)
            await self._releasing.uninstall(state)
        await self._hooks.run_once(state, BindingType.AFTER_DELETE_HELM)
        await self._webhooks.withdraw(state, "conversion")
        state.reach(Phase.HOOKS_DISABLED)
        self._hooks.forget(state)
        self._store.forget(state.module.key)
        state.remove()

    async def _recall(self, state: ModuleState) -> None:
        """Let its hooks see the values of its release, if it last ran in an earlier process."""
        if self._store.is_held(state.module.key):
            return
        if values := await self._releasing.last_values(state):
            self._store.hold_recorded(state.module.key, values)
