"""The verbs for who lives in this process: controllers, seeds, the simulation, tests. Plain functions: nothing else
happens in between, since they ask no webhook. So an object that only a webhook can convert is changed in the version
in which it is stored; those who write so change metadata.
"""

from collections.abc import Callable
from datetime import UTC, datetime

from kubesandbox.kinds import Kind, Kinds
from kubesandbox.query.requests import DeleteParameters, Place, WriteParameters
from kubesandbox.status import not_done_here
from kubesandbox.store import Store
from kubesandbox.structural import versions
from kubesandbox.verbs import reading, subresources
from kubesandbox.verbs.bodies import Body
from kubesandbox.verbs.gate import at_once
from kubesandbox.verbs.patching import Patch
from kubesandbox.verbs.verbs import Step, Verbs, Written
from kubetypes.json_values import JSON

__all__ = ["Api", "Step", "Written"]


class Api:
    """The verbs on a store; `verbs.py` documents what each takes, returns and raises. `now` is the time of day."""

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

    def create(self, kind: Kind, where: Place, options: WriteParameters, body: Body) -> Written:
        """A new object."""
        if kind.webhook is not None and kind.version != kind.storage:
            raise not_done_here(f"a {kind.kind} that a webhook has to convert; write it in version {kind.storage}")
        return at_once(self._verbs.create(kind, where, options, body))

    def update(self, kind: Kind, where: Place, options: WriteParameters, body: Body) -> Written:
        """Replace an object."""
        return at_once(self._verbs.update(kind, where, options, body))

    def patch(self, kind: Kind, where: Place, options: WriteParameters, patch: Patch) -> Written:
        """A patch on the object that is there."""
        return at_once(self._verbs.patch(kind, where, options, patch))

    def modify(self, kind: Kind, where: Place, options: WriteParameters, change: Step) -> Written:
        """What `change` makes of the object that is there."""
        return at_once(self._verbs.modify(self._own(kind, where), where, options, change))

    def create_below(self, kind: Kind, where: Place, options: WriteParameters, body: JSON) -> Written:
        """A binding or an eviction."""
        return at_once(subresources.create(self._verbs, kind, where, options, body))

    def delete(self, kind: Kind, where: Place, options: DeleteParameters) -> Written:
        """The object that is there goes, or is marked."""
        return at_once(self._verbs.delete(self._own(kind, where), where, options))

    def delete_all(self, kind: Kind, namespace: str, options: DeleteParameters) -> None:
        """All objects of a kind, in one namespace or ("") everywhere."""
        for stored in self.store.select(kind.kept, namespace):
            _, where, name = stored.key
            self.delete(kind, Place(kind.group, kind.version, kind.plural, where, name), options)

    def _own(self, kind: Kind, where: Place) -> Kind:
        """The kind in the version in which an object is stored, if only a webhook could convert it."""
        stored = self.store.get(reading.key(kind, where)) if kind.webhook is not None else None
        if stored is None:
            return kind
        return versions.in_version(kind, stored.json()["apiVersion"].rpartition("/")[2])
