"""Who is asked outside of this process before something is written or shown: the seams to webhooks.

The verbs know only these two; `webhooks/` answers them over HTTPS. Controllers of the sandbox, seeds and the simulation
ask nobody: to them every gate is open, and nothing is converted.
"""

from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from kubesandbox.kinds import Kind
from kubesandbox.rules import Object
from kubesandbox.store import Stored

T = TypeVar("T")


class Gate(Protocol):
    """What a request has to pass. What is new is created, what was there is updated; objects are not changed."""

    async def mutated(self, obj: Object, old: Object | None) -> Object:
        """The object as it is to be written instead. Raises Refused."""
        ...

    async def check(self, obj: Object, old: Object | None) -> None:
        """The object is complete and right: may it be written? Raises Refused."""
        ...

    async def check_deletion(self, old: Object) -> None:
        """Raises Refused."""
        ...


class Converter(Protocol):
    """Turns objects into other versions of their kind."""

    async def prepare(self, kind: Kind, stored: Sequence[Stored]) -> None:
        """See to it that these can be read in the version of `kind`. Raises Refused."""
        ...

    async def kept(self, kind: Kind, obj: Object) -> Object:
        """An object in the version in which it is stored. Raises Refused."""
        ...

    async def shown(self, kind: Kind, obj: Object) -> Object:
        """An object in the version of `kind`. Raises Refused."""
        ...


class Open:
    """Nobody is asked."""

    async def mutated(self, obj: Object, old: Object | None) -> Object:
        """As it is."""
        return obj

    async def check(self, obj: Object, old: Object | None) -> None:
        """It may."""

    async def check_deletion(self, old: Object) -> None:
        """It may."""


class Unconverted:
    """Objects stay in the version in which they are."""

    async def prepare(self, kind: Kind, stored: Sequence[Stored]) -> None:
        """What cannot be read is found out when it is read."""

    async def kept(self, kind: Kind, obj: Object) -> Object:
        """As it is."""
        return obj

    async def shown(self, kind: Kind, obj: Object) -> Object:
        """As it is."""
        return obj


OPEN, UNCONVERTED = Open(), Unconverted()


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """What a verb comes to that has nobody to wait for."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise AssertionError("a verb waits that has nobody to wait for")
