"""The steps that delete a unit: what it has installed, and everything that remembers it in this process.

A step is done once; a retry continues with the step that failed. Requests and attempts are in `unit_tasks.py`.
"""

from hookrunner import log
from hookrunner.convergence.runs.unit_runner import UnitParts
from hookrunner.errors import BadHookConfig
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import Phase
from hookrunner.model.unit_state import UnitState

_log = log.get(__name__)


class UnitRemover:
    """Deletes a unit: webhooks, delete hooks, release, watches, hooks, values in memory, in this order."""

    def __init__(self, parts: UnitParts) -> None:
        self._hooks = parts.hooks
        self._webhooks = parts.webhooks
        self._releases = parts.releases
        self._store = parts.store

    async def run(self, state: UnitState) -> None:
        """Delete it. Raises what prevents that; the next attempt continues with the step that failed, and no delete
        hook runs twice. A hook that cannot even say what it wants keeps no unit alive."""
        try:
            await self._hooks.load(state)
        except BadHookConfig as error:
            _log.error("deleting the unit without its hooks", **state.unit.fields, error=error)
        await self._webhooks.withdraw(state, "admission")  # else they may refuse the deletion of the module's objects
        # It may have been turned off before it came so far, or while no process ran.
        await self._hooks.listen(state, BindingType.BEFORE_DELETE_HELM, BindingType.AFTER_DELETE_HELM)
        if state.unit.installs and await self._releases.head(state):
            await self._recall_values(state)
            await self._hooks.run_once(state, BindingType.BEFORE_DELETE_HELM)
            await self._releases.uninstall(state)
        await self._hooks.run_once(state, BindingType.AFTER_DELETE_HELM)
        await self._webhooks.withdraw(state, "conversion")
        state.reach(Phase.HOOKS_DISABLED)
        self._hooks.forget(state)
        self._store.forget(state.unit.section)
        state.remove()

    async def _recall_values(self, state: UnitState) -> None:
        """Let its hooks see the values of its release, if it last ran in an earlier process."""
        if self._store.is_held(state.unit.section):
            return
        if values := await self._releases.last_values(state):
            self._store.hold_recorded(state.unit.section, values)
