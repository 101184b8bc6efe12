"""Which webhooks are asked before an object is written or shown: the seams between the verbs and `webhooks/`.

The verbs know only these two protocols; `webhooks/` implements them over HTTPS. Controllers of the sandbox, seeds and
the simulation ask no webhook: for them every gate is open, and nothing is converted.
"""

from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from kubesandbox.kinds import Kind
from kubesandbox.store import Stored
from kubesandbox.verbs.rules import Object

T = TypeVar("T")


class AdmissionGate(Protocol):
    """What a write has to pass. `old` is None for a new object; objects are not changed in place."""

    async def mutate(self, obj: Object, old: Object | None) -> Object:
        """The object to write instead. Raises Refused."""
        ...

    async def check(self, obj: Object, old: Object | None) -> None:
        """Ask whether the object, complete and valid, may be written. Raises Refused."""
        ...

    async def check_deletion(self, old: Object) -> None:
        """Raises Refused."""
        ...


class Converter(Protocol):
    """Turns objects into other versions of their kind."""

    async def prepare(self, kind: Kind, stored: Sequence[Stored]) -> None:
        """Convert stored objects in advance, so that they can be read in the version of `kind`. Raises Refused."""
        ...

    async def to_stored_version(self, kind: Kind, obj: Object) -> Object:
        """An object in the version in which it is stored. Raises Refused."""
        ...

    async def to_version(self, kind: Kind, obj: Object) -> Object:
        """An object in the version of `kind`. Raises Refused."""
        ...


class Open:
    """No webhook is asked."""

    async def mutate(self, obj: Object, old: Object | None) -> Object:
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

    async def to_stored_version(self, kind: Kind, obj: Object) -> Object:
        """As it is."""
        return obj

    async def to_version(self, kind: Kind, obj: Object) -> Object:
        """As it is."""
        return obj


OPEN, UNCONVERTED = Open(), Unconverted()


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a verb that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise AssertionError("a verb waits although no webhook is asked")
