"""The webhooks of the program, which are built and imported only when the first hook declares one."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Protocol

from hookrunner.engine.assembly import Parts
from hookrunner.engine.reviews.reviewer import ReviewDeclarations
from hookrunner.errors import RegistrationFailed, StartRefused
from hookrunner.model.bindings import Hook
from hookrunner.model.needs import UserNeed
from hookrunner.registration.desired import DesiredRegistrations, desired_registrations, own_namespace, targets
from hookrunner.registration.reconcile import claim
from hookrunner.registration.removal import has_leftovers, withdraw
from hookrunner.settings import Settings


class OpenWebhooks(Protocol):
    """`serving.Webhooks`, which is imported late: see `LazyWebhooks._serve`."""

    async def renew(self, mine: Sequence[Hook] = ()) -> None: ...

    def conditions(self) -> dict[str, tuple[bool, str]]: ...

    def needs(self) -> Iterator[UserNeed]: ...

    def leave(self) -> None: ...

    async def finish(self, grace: float) -> None: ...


class LazyWebhooks:
    """Opens the webhook servers when they are needed, and registers webhooks. `stack` closes what is opened."""

    def __init__(self, settings: Settings, declared: ReviewDeclarations, parts: Parts, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._declared = declared
        self._parts = parts
        self._stack = stack
        self._opening = asyncio.Lock()
        self._served: OpenWebhooks | None = None

    @property
    def open(self) -> bool:
        """Are the webhook ports open?"""
        return self._served is not None

    async def start(self) -> None:
        """Serve and register the webhooks of the first hooks; without any, remove the registrations of earlier runs.

        A process that never has hooks removes nothing: what is registered belongs to another one. Raises StartRefused.
        """
        # A Service or a probe may count on a configured port, also while no hook needs it.
        if self._declared.kinds or self._settings.webhooks.port is not None:
            await self._serve()
        elif self._settings.may_have_hooks and not self._declared.incomplete:
            self._parts.background.keep("removal of registrations", self._withdraw, ends=True)

    async def has_leftovers(self) -> bool:
        """Ask whether anything is registered that no known hook declares. Raises KubeError."""
        known = replace(self._desired(), incomplete=False)
        return await has_leftovers(self._parts.kube.patcher, known)

    async def renew(self, mine: Sequence[Hook] = ()) -> None:
        """Register what hooks declare now, and unregister the rest.

        Returns when the webhooks of `mine` are registered and the rest is unregistered. Raises RegistrationFailed.
        """
        if self._served is None and not self._declared.kinds:
            await self._withdraw()
            return
        try:
            served = await self._serve()
            await served.renew(mine)
        except StartRefused as error:
            raise RegistrationFailed(str(error)) from error

    def conditions(self) -> dict[str, tuple[bool, str]]:
        """The conditions for `/readyz`; empty without webhooks."""
        return self._served.conditions() if self._served else {}

    def needs(self) -> Iterator[UserNeed]:
        """What needs the user; nothing without webhooks."""
        return self._served.needs() if self._served else iter(())

    def leave(self) -> None:
        """Keep answering, and let API servers switch to other replicas."""
        if self._served:
            self._served.leave()

    async def finish(self, grace: float) -> None:
        """Accept no more reviews; return when running ones are answered, or after `grace` seconds."""
        if self._served:
            await self._served.finish(grace)

    async def _serve(self) -> OpenWebhooks:
        # Imported here: it takes 0.1 s and 8 MB, which a program without webhooks saves.
        from hookrunner.webhooks.serving import serving

        async with self._opening:
            if self._served is None:
                webhooks = serving(self._settings, self._declared, self._parts)
                self._served = await self._stack.enter_async_context(webhooks)
            return self._served

    async def _withdraw(self) -> None:
        await withdraw(self._parts.kube.patcher, self._desired(), claim(time.time()))

    def _desired(self) -> DesiredRegistrations:
        settings, declared = self._settings, self._declared
        addresses = targets(settings, own_namespace(settings, self._parts.kube.connection.namespace))
        desired = desired_registrations(
            declared.asked, settings.validating.configuration, *addresses, declared.incomplete
        )
        return replace(desired, sure=declared.sure)
