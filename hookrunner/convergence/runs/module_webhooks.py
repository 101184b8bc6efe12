"""Webhooks of modules' hooks: when the API server begins to ask, and when it asks no more (design.md §4.3).

Reviews are answered as soon as the hooks are known, outside of all queues: nothing that a module does waits for itself.
Registered are conversions before the module looks at any object, for nobody can read what has to be converted first;
webhooks of admission when its values are there. Both go before the hooks do.

What stands since an earlier life stays until it is certain what each module wants: policies have no gaps, and nobody
reads objects unconverted. So that nobody waits for what nobody answers, hooks of modules that are on are asked before
any module is run, if anything stands.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol

from hookrunner import log
from hookrunner.convergence.state import ModuleState, ModuleStates
from hookrunner.engine.reviews.reviewer import Declared, OfModules
from hookrunner.errors import HookrunnerError, KubeError, RegistrationFailed
from hookrunner.model.bindings import Hook, ReviewKind
from hookrunner.model.modules import Choice
from hookrunner.registration.registrar import SETTLE

Registration = Literal["registering", "registered", "withdrawing"]
"""The API server is about to call the webhooks of one kind, calls them, or is about to stop calling them."""

KINDS: tuple[ReviewKind, ...] = "conversion", "admission"
"""In the order in which they come."""

_PATIENCE = 30.0
"""Seconds for a registration, or for taking one away, while the API is away or the like."""

_log = log.get("module-webhooks")


class Registering(Protocol):
    """Whoever tells the API server what it is to ask: what is declared, all of it, at each call."""

    async def standing(self) -> bool:
        """Is anything registered that no hook asks for? Raises KubeError."""

    async def renew(self, mine: Sequence[Hook] = ()) -> None:
        """Make it so; return when it is, for these hooks and for those that are asked no more. Raises
        RegistrationFailed."""


class Hooks(Protocol):
    """The hooks of modules, as far as they are to answer."""

    async def load(self, state: ModuleState) -> None:
        """Know them. Raises BadHookConfig."""

    async def ready_to_answer(self, state: ModuleState) -> None:
        """Let them have snapshots."""

    def forget(self, state: ModuleState) -> None:
        """Know them no more."""


class ModuleWebhooks:
    """`certain` says that no directory is left out which may be somebody's module."""

    def __init__(
        self, states: ModuleStates, hooks: Hooks, declared: Declared, registering: Registering, certain: bool
    ) -> None:
        self._states = states
        self._hooks = hooks
        self._declared = declared
        self._registering = registering
        self._certain = certain
        self._looked = self._clean = False
        self._registrations: dict[str, dict[ReviewKind, Registration]] = {state.module.name: {} for state in states}
        self._declare()

    def registrations(self, state: ModuleState) -> Mapping[ReviewKind, Registration]:
        """How far each kind of a module's webhooks is; a kind that is not registered is missing."""
        return self._registrations[state.module.name]

    async def resume(self) -> None:
        """Once it is decided who is on, and until it is certain that nothing is left of an earlier life: let those
        answer who may be asked already, and take away what nobody wants any more."""
        if not self._looked:
            await self._look()
        if self._clean:
            return
        try:
            async with asyncio.timeout(_PATIENCE):
                for state in self._states.enabled:
                    await self._answer(state)
                await self._renew()
        except (HookrunnerError, TimeoutError) as error:
            _log.warn("Registrations of an earlier life are not as they should be yet.", error=str(error))
        else:
            self._clean = not self._declared.modules.incomplete

    async def register(self, state: ModuleState, kind: ReviewKind) -> None:
        """Have the hooks of a module asked, if they are not. Raises RegistrationFailed."""
        mine = tuple(_asked(state.hooks, [kind]))
        if not mine or self.registrations(state).get(kind) == "registered":
            return
        kinds = self._registrations[state.module.name]
        kinds[kind] = "registering"
        await self._renewed(mine)
        if kinds.get(kind) == "registering":  # else it is withdrawn meanwhile
            kinds[kind] = "registered"

    async def withdraw(self, state: ModuleState, kind: ReviewKind) -> None:
        """Have them asked no more; return when the API server does not. Raises RegistrationFailed."""
        kinds = self._registrations[state.module.name]
        if kind not in kinds:
            return
        kinds[kind] = "withdrawing"
        await self._renewed()
        await asyncio.sleep(SETTLE)
        if kinds.get(kind) == "withdrawing":  # else it is registered again meanwhile
            del kinds[kind]

    async def _look(self) -> None:
        """See whether anything stands. As long as that is not known, it may."""
        try:
            self._clean, self._looked = not await self._registering.standing(), True
        except KubeError as error:
            _log.warn("Registrations of an earlier life cannot be looked for.", error=str(error))

    async def _answer(self, state: ModuleState) -> None:
        """Let a module's hooks answer before its turn has come. What is wrong with them is told when it has."""
        try:
            await self._hooks.load(state)
        except HookrunnerError:
            return
        if any(hook.config.reviews for hook in state.hooks):
            state.mark_live()
            await self._hooks.ready_to_answer(state)
        elif not state.live:
            self._hooks.forget(state)

    async def _renewed(self, mine: Sequence[Hook] = ()) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._renew(mine)
        except TimeoutError:
            raise RegistrationFailed(f"webhooks could not be registered within {_PATIENCE:g} s") from None

    async def _renew(self, mine: Sequence[Hook] = ()) -> None:
        self._declare()
        await self._registering.renew(mine)

    def _declare(self) -> None:
        """Say what modules want at this moment."""
        known = [state for state in self._states if self._is_known(state)]
        modules = OfModules(
            answering=tuple(hook for state in self._states for hook in state.hooks),
            asked=tuple(hook for state in self._states for hook in _asked(state.hooks, self._due(state))),
            sure=frozenset(state.module.name for state in known),
            incomplete=not self._clean and self._doubts(),
        )
        self._declared.declare_modules(modules)

    def _doubts(self) -> bool:
        """May there be hooks that want what nobody asks for as yet?"""
        return not (self._certain and len(self._states) and all(map(self._is_known, self._states)))

    def _is_known(self, state: ModuleState) -> bool:
        """Is it known what the module wants, and has it come about?"""
        kinds = {kind for hook in state.hooks for kind in hook.config.reviews}
        return state.decision.choice is Choice.OFF or (state.loaded and kinds <= self.registrations(state).keys())

    def _due(self, state: ModuleState) -> list[ReviewKind]:
        """The kinds of reviews whose time has come."""
        return [kind for kind, stage in self.registrations(state).items() if stage != "withdrawing"]


def _asked(hooks: Sequence[Hook], kinds: Sequence[ReviewKind]) -> Iterator[Hook]:
    """Those that want reviews of these kinds, each for these only."""
    for hook in hooks:
        if not hook.config.reviews.isdisjoint(kinds):
            yield hook.asked_only(kinds)
