"""The verbs for who lives in this process: controllers, seeds, the simulation, tests. Plain functions: nothing else
happens in between, since they ask no webhook.
"""

from collections.abc import Callable
from datetime import UTC, datetime

from hookrunner.model.resources import JSON
from hookrunner.sandbox import subresources
from hookrunner.sandbox.bodies import Body
from hookrunner.sandbox.kinds import Kind, Kinds
from hookrunner.sandbox.outside import at_once
from hookrunner.sandbox.patching import Patch
from hookrunner.sandbox.requests import DeleteOptions, ListOptions, Place, WriteOptions
from hookrunner.sandbox.store import Store
from hookrunner.sandbox.verbs import Step, Verbs, Written

__all__ = ["Api", "Step", "Written"]


class Api:
    """The verbs on a store; what each takes, gives and raises is said in `verbs.py`. `now` is the time of day."""

    def __init__(
        self,
        store: Store,
        kinds: Kinds,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store = store
        self.kinds = kinds
        self.now = now
        self._verbs = Verbs(store, kinds, now)

    def create(self, kind: Kind, where: Place, options: WriteOptions, body: Body) -> Written:
        """A new object."""
        return at_once(self._verbs.create(kind, where, options, body))

    def update(self, kind: Kind, where: Place, options: WriteOptions, body: Body) -> Written:
        """A whole object instead of the one that is there."""
        return at_once(self._verbs.update(kind, where, options, body))

    def patch(self, kind: Kind, where: Place, options: WriteOptions, patch: Patch) -> Written:
        """A patch on the object that is there."""
        return at_once(self._verbs.patch(kind, where, options, patch))

    def modify(self, kind: Kind, where: Place, options: WriteOptions, change: Step) -> Written:
        """What `change` makes of the object that is there."""
        return at_once(self._verbs.modify(kind, where, options, change))

    def create_below(self, kind: Kind, where: Place, options: WriteOptions, body: JSON) -> Written:
        """A binding or an eviction."""
        return at_once(subresources.create(self._verbs, kind, where, options, body))

    def delete(self, kind: Kind, where: Place, options: DeleteOptions) -> Written:
        """The object that is there goes, or is marked."""
        return at_once(self._verbs.delete(kind, where, options))

    def delete_collection(self, kind: Kind, where: Place, listed: ListOptions, options: DeleteOptions) -> list[Written]:
        """All that a list would show."""
        return at_once(self._verbs.delete_collection(kind, where, listed, options))
