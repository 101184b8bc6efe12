"""A process that dies at one of its writes, before it arrives or before it is answered.

    death = Death(at=3, done=False)      # at the fourth step, which is not done
    await death.step(partial(client.send, call))

From that step on nothing that the process asks for is done. It is not answered either, or gets the error `cause`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings

_Answer = TypeVar("_Answer")


class Died(BaseException):
    """As SIGKILL: no `except Exception` tidies up after it."""


@dataclass
class Death:
    """Comes at the step `at`, which is then `done` or not; never if that is negative. Steps are writes and calls that
    change something; with `counts=False` a request is not a step, but dies like the others after that one."""

    at: int = -1
    done: bool = False
    steps: int = 0
    cause: Callable[[], BaseException] | None = None
    happened: asyncio.Event = field(default_factory=asyncio.Event)

    async def step(self, action: Callable[[], Awaitable[_Answer]], counts: bool = True) -> _Answer:
        """Do it, unless death comes. Raises the cause; without one it never returns."""
        number = self.steps
        self.steps += counts
        is_last = self.done and number == self.at
        if not 0 <= self.at <= number or (is_last and not counts):
            return await action()
        if is_last:
            await action()
        self.happened.set()
        if self.cause:
            raise self.cause()
        await asyncio.Event().wait()
        raise AssertionError("a dead process goes on")


class MortalClient(Client):
    """A client of a process that raises Died after so many writes; from then on nothing reaches the API server."""

    def __init__(self, credentials: Credentials, writes: int) -> None:
        super().__init__(credentials, Requests(Metrics("")))
        self.death = Death(at=writes, cause=Died)

    async def send(self, call: ApiCall) -> bytes:
        """As `Client.send`."""
        return await self.death.step(partial(super().send, call), counts=call.method != "GET")


async def dies(url: str, writes: int, work: Callable[[Client], Awaitable[object]]) -> bool:
    """Does a process die in this work, with so many writes to the API server there?"""
    async with MortalClient(Credentials(KubeSettings(), Connection(url)), writes) as client:
        try:
            await work(client)
        except Died:
            return True
    return False
