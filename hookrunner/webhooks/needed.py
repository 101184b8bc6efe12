"""Webhooks as far as they are needed: put together when the first hook wants to be asked, and not imported before."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Protocol

from hookrunner.engine.assembly import Parts
from hookrunner.engine.reviews.reviewer import ReviewDeclarations
from hookrunner.errors import RegistrationFailed, StartRefused
from hookrunner.model.bindings import Hook
from hookrunner.registration.claims import claim
from hookrunner.registration.desired import DesiredRegistrations, desired_registrations, own_namespace, targets
from hookrunner.registration.removal import has_leftovers, withdraw
from hookrunner.settings import Settings


class Served(Protocol):
    """`serving.Webhooks`."""

    async def renew(self, mine: Sequence[Hook] = ()) -> None: ...

    def conditions(self) -> dict[str, tuple[bool, str]]: ...

    def leave(self) -> None: ...

    async def finish(self, grace: float) -> None: ...


class Needed:
    """`stack` closes what is opened."""

    def __init__(self, settings: Settings, declared: ReviewDeclarations, parts: Parts, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._declared = declared
        self._parts = parts
        self._stack = stack
        self._opening = asyncio.Lock()
        self._served: Served | None = None

    @property
    def open(self) -> bool:
        """May anybody be asked?"""
        return self._served is not None

    async def start(self) -> None:
        """Have the hooks asked that there are at the start; without any, take away what those of an earlier life may
        have registered. Raises StartRefused."""
        # A port that was asked for is one that a Service or a probe counts on, also while no hook needs it.
        if self._declared.kinds or self._settings.webhooks.port is not None:
            await self._serve()
        elif not self._declared.incomplete:
            self._parts.background.keep("removal of registrations", self._withdraw, ends=True)

    async def has_leftovers(self) -> bool:
        """Is anything registered that no hook asks for as far as that is known? Raises KubeError."""
        known = replace(self._wish(), incomplete=False)
        return await has_leftovers(self._parts.kube.patcher, known)

    async def renew(self, mine: Sequence[Hook] = ()) -> None:
        """Ask those who are to be asked now; return when the webhooks of `mine` are registered, and what nobody asks
        for any more is not. Raises RegistrationFailed."""
        if self._served is None and not self._declared.kinds:
            await self._withdraw()
            return
        try:
            served = await self._serve()
            await served.renew(mine)
        except StartRefused as error:
            raise RegistrationFailed(str(error)) from error

    def conditions(self) -> dict[str, tuple[bool, str]]:
        """For `/readyz`: nothing as long as there are no webhooks."""
        return self._served.conditions() if self._served else {}

    def leave(self) -> None:
        """Answer as before, and let the API server find others."""
        if self._served:
            self._served.leave()

    async def finish(self, grace: float) -> None:
        """Take no more reviews, and return when those that run are answered, or after so many seconds."""
        if self._served:
            await self._served.finish(grace)

    async def _serve(self) -> Served:
        # 0.1 s and 8 MB, which nobody else has to pay.
        from hookrunner.webhooks.serving import serving

        async with self._opening:
            if self._served is None:
                found = serving(self._settings, self._declared, self._parts)
                self._served = await self._stack.enter_async_context(found)
            return self._served

    async def _withdraw(self) -> None:
        await withdraw(self._parts.kube.patcher, self._wish(), claim(time.time()))

    def _wish(self) -> DesiredRegistrations:
        settings, declared = self._settings, self._declared
        found = targets(settings, own_namespace(settings, self._parts.kube.connection.namespace))
        wanted = desired_registrations(declared.asked, settings.validating.configuration, *found, declared.incomplete)
        return replace(wanted, sure=declared.sure)
