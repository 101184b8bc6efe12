"""Whether the API server is away, known to all who talk to one cluster, and its return as a signal.

    outage = Outage()                  # one for each cluster: its clients report failures and answers
    await outage.turn(seconds)         # between two attempts of a watch
    await outage.sleep(seconds)        # between two attempts of anything else
    async for seconds in outage.ends(): ...

An outage begins when a connection fails and ends with the first useful answer to any client. Meanwhile watches do not
keep pauses of their own, of which 200 would be as many different delays after the server's return: they stand in line,
the first of them looks once in a while, and its success lets all of them go, at a rate that spares the server. For a
moment, a server that starts refuses good credentials or asks for patience: such an answer ends no outage, but the next
look comes sooner.
"""

import asyncio
from collections.abc import AsyncGenerator
from http import HTTPStatus

from hookrunner.pacing import TokenBucket

_FIRST_LOOK, _LONGEST_LOOK = 0.1, 1.0
"""Seconds between two looks of the line, doubled at each: a refused connection costs next to nothing."""

_RELEASED, _AT_ONCE = 200.0, 20
"""Watches that may reconnect in a second after the return, and how many of them at once."""

_BLIP = 3.0
"""Seconds. What was shorter may have been one bad connection among good ones, and hurries no watch whose own pause is
longer: it might be its connection that always fails."""

_UNSURE = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS})
"""What a server also says that has not read its own rules yet."""


class Outage:
    """The state of one cluster's API server. `is_under_way` from a failed connection to the next useful answer."""

    def __init__(self) -> None:
        self.is_under_way = False
        self._began = 0.0
        self._lasted = 0.0
        self._ended = 0
        self._look = _FIRST_LOOK
        self._next_look = 0.0
        self._line = asyncio.Lock()
        self._pace = TokenBucket.per_second(_RELEASED, _AT_ONCE)
        self._news = asyncio.Event()

    def note_failure(self) -> None:
        """A connection could not be made, or nothing came back."""
        if not self.is_under_way:
            self.is_under_way, self._began = True, _now()
            self._look, self._next_look = _FIRST_LOOK, self._began + _FIRST_LOOK

    def note_answer(self, status: int) -> None:
        """An answer with this HTTP status came, whatever was asked."""
        if not self.is_under_way:
            return
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _UNSURE:
            self._look, self._next_look = _FIRST_LOOK, min(self._next_look, _now() + _FIRST_LOOK)
        else:
            self.is_under_way, self._lasted = False, _now() - self._began
            self._ended += 1
        self._news.set()
        self._news = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Wait so long, but no longer than until an outage ends."""
        ended, until = self._ended, _now() + seconds
        while self._ended == ended and await self._hear(until):
            pass

    async def turn(self, seconds: float) -> None:
        """Wait before the next attempt of a watch: so many seconds, in an outage instead for a turn in the line; in any
        case no longer than until an outage ends that is worth the name."""
        ended, until = self._ended, _now() + seconds
        if not self.is_under_way:
            await self.sleep(seconds)
        elif await self._is_first_to_look():
            return
        if self._ended != ended:
            if self._lasted < min(seconds, _BLIP):
                await asyncio.sleep(until - _now())
            await self._pace.turn()

    async def ends(self) -> AsyncGenerator[float, None]:
        """Yields at the end of each outage how many seconds ago it began; never ends."""
        ended = self._ended
        while True:
            if self._ended == ended:
                await self._news.wait()
                continue
            ended = self._ended
            yield _now() - self._began

    async def _is_first_to_look(self) -> bool:
        """Wait in the line; False if the outage ended meanwhile."""
        async with self._line:
            while self.is_under_way and await self._hear(self._next_look):
                pass
            if self.is_under_way:
                self._look = min(self._look * 2, _LONGEST_LOOK)
                self._next_look = _now() + self._look
            return self.is_under_way

    async def _hear(self, until: float) -> bool:
        """Return when something has changed; False if nothing has by that time."""
        try:
            async with asyncio.timeout_at(until):
                return await self._news.wait()
        except TimeoutError:
            return False


def _now() -> float:
    return asyncio.get_running_loop().time()
