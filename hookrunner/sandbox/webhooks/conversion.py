"""Objects in other versions of their kind."""

from collections.abc import Sequence

from hookrunner.sandbox import events
from hookrunner.sandbox.kinds import Kind
from hookrunner.sandbox.rules import Object
from hookrunner.sandbox.store import Stored
from hookrunner.sandbox.structural import versions


class Conversion:
    """Converts as the kind's definition says."""

    async def prepare(self, kind: Kind, stored: Sequence[Stored]) -> None:
        """See `outside.py`."""

    async def kept(self, kind: Kind, obj: Object) -> Object:
        """See `outside.py`."""
        return obj

    async def shown(self, kind: Kind, obj: Object) -> Object:
        """See `outside.py`."""
        converted: Object = versions.as_version(obj, kind) if kind.custom else events.as_version(obj, kind)
        return converted
