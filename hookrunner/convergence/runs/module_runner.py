"""One module, from wherever it stands to ready: its hooks, what they listen to, its release (addon-operator.md §5.5).

Each step is done once; a retry goes on from the step that failed. Two modules may be run side by side, one module never
is: its tasks wait in a queue of its own.
"""

from collections import Counter
from collections.abc import Awaitable, Callable

from hookrunner import log
from hookrunner.convergence.runs.definitions import Definitions
from hookrunner.convergence.runs.module_hooks import ModuleHooks
from hookrunner.convergence.runs.module_webhooks import KINDS, ModuleWebhooks
from hookrunner.convergence.runs.release_reconciler import Releasing
from hookrunner.convergence.state import ModuleState
from hookrunner.errors import ReleaseFailed
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import Phase
from hookrunner.values.store import Store

RESTLESS = 5
"""So many times in a row may a module's afterHelm hooks change its values before it is set aside (design.md §4.2)."""

_log = log.get("module-run")


class Running:
    """Knows the steps."""

    def __init__(
        self, hooks: ModuleHooks, webhooks: ModuleWebhooks, definitions: Definitions, releasing: Releasing, store: Store
    ) -> None:
        self._hooks = hooks
        self._webhooks = webhooks
        self._definitions = definitions
        self._releasing = releasing
        self._store = store
        self._repeats = Counter[str]()
        self._steps: dict[Phase, Callable[[ModuleState], Awaitable[Phase]]] = {
            Phase.STARTUP: self._start,
            Phase.ON_STARTUP_DONE: self._listen,
            Phase.QUEUE_SYNCHRONIZATION_TASKS: self._synchronize,
            Phase.WAIT_FOR_SYNCHRONIZATION: self._wait,
            Phase.ENABLE_SCHEDULE_BINDINGS: self._tick,
            Phase.CAN_RUN_HELM: self._release,
        }

    async def run(self, state: ModuleState) -> None:
        """Bring the module to ready. Raises what keeps it from that, a HookrunnerError."""
        state.keep()
        self._store.begin_run(state.module.key)
        if state.phase is Phase.READY:
            # They are disarmed if it was about to be deleted and was turned on again.
            self._hooks.arm_schedules(state)
            state.reach(Phase.CAN_RUN_HELM)
        while state.phase is not Phase.READY:
            state.reach(await self._steps[state.phase](state))
        state.become_ready()

    async def _start(self, state: ModuleState) -> Phase:
        self._hooks.compiled.begin(state)
        await self._hooks.load(state)
        await self._hooks.run(state, BindingType.ON_STARTUP)
        return Phase.ON_STARTUP_DONE

    async def _listen(self, state: ModuleState) -> Phase:
        await self._webhooks.register(state, "conversion")
        listens = any(hook.config.kubernetes for hook in state.hooks)
        return Phase.QUEUE_SYNCHRONIZATION_TASKS if listens else Phase.ENABLE_SCHEDULE_BINDINGS

    async def _synchronize(self, state: ModuleState) -> Phase:
        await self._hooks.synchronize(state)
        return Phase.WAIT_FOR_SYNCHRONIZATION

    async def _wait(self, state: ModuleState) -> Phase:
        await self._hooks.synchronized(state)
        return Phase.ENABLE_SCHEDULE_BINDINGS

    async def _tick(self, state: ModuleState) -> Phase:
        self._hooks.arm_schedules(state)
        return Phase.CAN_RUN_HELM

    async def _release(self, state: ModuleState) -> Phase:
        """Between the hooks before Helm and those after it. If the latter change values, once more.

        What others change meanwhile, they ask another run for; then that is the one that looks again.
        """
        await self._definitions.apply(state)
        for kind in KINDS:  # conversions too, if it was about to be deleted and was turned on again
            await self._webhooks.register(state, kind)
        await self._hooks.run(state, BindingType.BEFORE_HELM)
        if state.module.chart:
            await self._releasing.settle(state)
        before = self._store.document(state.module.key)
        await self._hooks.run(state, BindingType.AFTER_HELM)
        if self._store.document(state.module.key) == before or state.requested != state.begun:
            self._repeats.pop(state.module.name, None)
            return Phase.READY
        self._repeats[state.module.name] += 1
        if self._repeats[state.module.name] > RESTLESS:
            del self._repeats[state.module.name]
            raise ReleaseFailed(
                f"{state.module.name}: its afterHelm hooks have changed its values {RESTLESS + 1} times in a row; "
                "let them change nothing that is so already"
            )
        _log.info("afterHelm hooks changed values: once more", module=state.module.name)
        return Phase.CAN_RUN_HELM
