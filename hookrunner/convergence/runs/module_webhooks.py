"""Webhooks of modules: registered when their hooks can answer, and withdrawn before they cannot any more.

Reviews are answered as soon as the hooks are known, outside of all queues: nothing that a module does waits
for itself. Conversions are registered before the module looks at any object, for nothing that needs conversion can be
read before; webhooks of admission when the module's values are there. Both are withdrawn before the hooks are
unregistered.

What an earlier process has registered stays until it is certain what each module wants: policies have no gaps, and no
client reads objects unconverted. If anything is registered, the hooks of enabled modules are loaded before any module
runs, so that no client waits for an answer that no hook gives.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol

from hookrunner import log
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.engine.reviews.reviewer import ModuleDeclarations, ReviewDeclarations
from hookrunner.errors import HookrunnerError, KubeError, RegistrationFailed
from hookrunner.model.bindings import Hook, ReviewKind
from hookrunner.model.modules import Choice
from hookrunner.model.unit_state import ModuleState, UnitState
from hookrunner.registration.registrar import SETTLE

Registration = Literal["registering", "registered", "withdrawing"]
"""The API server is about to call the webhooks of one kind, calls them, or is about to stop calling them."""

KINDS: tuple[ReviewKind, ...] = "conversion", "admission"
"""In the order in which they are registered."""

_PATIENCE = 30.0
"""Seconds for a registration or a withdrawal, while the API server is away, for example."""

_log = log.get(__name__)


class WebhookRegistrar(Protocol):
    """Tells the API server which webhooks to call: all that are declared, at each call."""

    async def has_leftovers(self) -> bool:
        """Is anything registered that no hook declares? Raises KubeError."""

    async def renew(self, mine: Sequence[Hook] = ()) -> None:
        """Register what is declared and withdraw the rest; returns when that is done for these hooks and for all
        withdrawals. Raises RegistrationFailed."""


class ReviewHooks(Protocol):
    """The hooks of modules, as far as they answer reviews."""

    async def load(self, state: UnitState) -> None:
        """Load and register them. Raises BadHookConfig."""

    async def listen_for_reviews(self, state: UnitState) -> None:
        """Give them their snapshots."""

    def forget(self, state: UnitState) -> None:
        """Unregister them."""


class ModuleWebhooks:
    """Registers and withdraws the webhooks of modules; hooks of addons have none. `certain` means that no directory was
    rejected that may be a module under another name."""

    def __init__(
        self,
        states: UnitStates,
        hooks: ReviewHooks,
        declared: ReviewDeclarations,
        registrar: WebhookRegistrar,
        certain: bool,
    ) -> None:
        self._states = states
        self._hooks = hooks
        self._declared = declared
        self._registrar = registrar
        self._certain = certain
        self._looked = self._clean = False
        self._registrations: dict[str, dict[ReviewKind, Registration]] = {state.name: {} for state in states.modules}
        self._declare()

    def registrations(self, state: UnitState) -> Mapping[ReviewKind, Registration]:
        """How far each kind of a module's webhooks is; a kind that is not registered is missing."""
        return self._registrations.get(state.name, {})

    async def resume(self) -> None:
        """When it is decided which modules are on, and until it is certain that nothing is left of an earlier process:
        let hooks answer that may be called already, and withdraw what no module wants."""
        if not self._looked:
            await self._look()
        if self._clean:
            return
        try:
            async with asyncio.timeout(_PATIENCE):
                for state in self._states.enabled:
                    await self._let_answer(state)
                await self._renew()
        except (HookrunnerError, TimeoutError) as error:
            _log.warn("registrations of an earlier process are not adjusted yet", error=error)
        else:
            self._clean = not self._declared.modules.incomplete

    async def register(self, state: UnitState, kind: ReviewKind) -> None:
        """Register the webhooks of a module's hooks, if they are not. Raises RegistrationFailed."""
        hooks = tuple(_only(state.hooks, [kind]))
        if not hooks or self.registrations(state).get(kind) == "registered":
            return
        kinds = self._registrations[state.name]
        kinds[kind] = "registering"
        await self._renew_in_time(hooks)
        if kinds.get(kind) == "registering":  # else it was withdrawn meanwhile
            kinds[kind] = "registered"

    async def withdraw(self, state: UnitState, kind: ReviewKind) -> None:
        """Withdraw them; returns when no API server calls them any more. Raises RegistrationFailed."""
        if kind not in self.registrations(state):
            return
        kinds = self._registrations[state.name]
        kinds[kind] = "withdrawing"
        await self._renew_in_time()
        await asyncio.sleep(SETTLE)
        if kinds.get(kind) == "withdrawing":  # else it was registered again meanwhile
            del kinds[kind]

    async def _look(self) -> None:
        """See whether anything is registered. As long as that is not known, something may be."""
        try:
            self._clean, self._looked = not await self._registrar.has_leftovers(), True
        except KubeError as error:
            _log.warn("registrations of an earlier process cannot be looked up", error=error)

    async def _let_answer(self, state: UnitState) -> None:
        """Let a module's hooks answer before its turn has come. Errors are reported when it has."""
        try:
            await self._hooks.load(state)
        except HookrunnerError:
            return
        if any(hook.config.reviews for hook in state.hooks):
            state.mark_live()
            await self._hooks.listen_for_reviews(state)
        elif not state.live:
            self._hooks.forget(state)

    async def _renew_in_time(self, hooks: Sequence[Hook] = ()) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._renew(hooks)
        except TimeoutError:
            raise RegistrationFailed(f"webhooks could not be registered within {_PATIENCE:g} s") from None

    async def _renew(self, hooks: Sequence[Hook] = ()) -> None:
        self._declare()
        await self._registrar.renew(hooks)

    def _declare(self) -> None:
        """Declare what modules want at this moment."""
        known = [state for state in self._states.modules if self._is_known(state)]
        modules = ModuleDeclarations(
            answering=tuple(hook for state in self._states.modules for hook in state.hooks),
            asked=tuple(hook for state in self._states.modules for hook in _only(state.hooks, self._due(state))),
            sure=frozenset(state.name for state in known),
            incomplete=not self._clean and self._in_doubt(),
        )
        self._declared.declare_modules(modules)

    def _in_doubt(self) -> bool:
        """May there be hooks whose webhooks are not declared yet?"""
        return not (self._certain and self._states.modules and all(map(self._is_known, self._states.modules)))

    def _is_known(self, state: ModuleState) -> bool:
        """Is it known what the module wants, and registered?"""
        kinds = {kind for hook in state.hooks for kind in hook.config.reviews}
        return state.choice is Choice.OFF or (state.loaded and kinds <= self.registrations(state).keys())

    def _due(self, state: UnitState) -> list[ReviewKind]:
        """The kinds of reviews that the API server should call for."""
        return [kind for kind, stage in self.registrations(state).items() if stage != "withdrawing"]


def _only(hooks: Sequence[Hook], kinds: Sequence[ReviewKind]) -> Iterator[Hook]:
    """Those that want reviews of these kinds, each for these only."""
    for hook in hooks:
        if not hook.config.reviews.isdisjoint(kinds):
            yield hook.asked_only(kinds)
