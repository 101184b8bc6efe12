"""A Namespace that is to go is emptied first; then its finalizer `kubernetes` is taken away and it goes.

https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
"""

from kubesandbox.kinds import Kind
from kubesandbox.query.requests import DeleteParameters, Place, WriteParameters
from kubesandbox.store import Key, StoreChange
from kubesandbox.verbs.api import Api
from kubesandbox.verbs.bodies import Body
from kubesandbox.verbs.rules import Object

FIRST = ("default", "kube-node-lease", "kube-public", "kube-system")
MANAGER = WriteParameters(manager="namespace-controller")
NAMESPACES = "namespaces"


def kind(api: Api) -> Kind:
    """The kind Namespace."""
    found = api.kinds.get("", "v1", NAMESPACES)
    assert found is not None
    return found


def make_first(api: Api) -> None:
    """The four that every cluster begins with."""
    for name in FIRST:
        if api.store.get(Key(NAMESPACES, "", name)) is None:
            where = Place("", "v1", NAMESPACES)
            api.create(kind(api), where, WriteParameters(manager="kube-apiserver"), Body({"metadata": {"name": name}}))


class Namespaces:
    """Empties the namespaces whose deletion was asked for."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._ending = {stored.key.name for stored in api.store.select(NAMESPACES) if _ends(stored.json())}

    def happened(self, change: StoreChange) -> None:
        """React to one change: of a namespace, or of an object in one that is being emptied."""
        key = change.key
        if key.resource == NAMESPACES:
            if change.after is not None and _ends(change.after.json()):
                self._ending.add(key.name)
                self._empty(key.name)
            elif change.after is None:
                self._ending.discard(key.name)
        elif key.namespace in self._ending and change.after is None:
            self._finish(key.namespace)

    def sweep(self) -> None:
        """What a restart has left."""
        for name in list(self._ending):
            self._empty(name)

    def _empty(self, namespace: str) -> None:
        for resource in self._api.store.resources():
            one = self._api.kinds.of_stored(resource)
            if one is not None and one.namespaced:
                self._api.delete_all(one, namespace, DeleteParameters(propagation="Background", grace=0))
        self._finish(namespace)

    def _finish(self, namespace: str) -> None:
        """Let it go, if nothing is left in it."""
        store = self._api.store
        if store.get(Key(NAMESPACES, "", namespace)) is None or store.inhabited(namespace):
            return

        def emptied(obj: Object) -> Object:
            spec = obj.get("spec", {})
            left = [one for one in spec.get("finalizers", ()) if one != "kubernetes"]
            obj["spec"] = {key: value for key, value in spec.items() if key != "finalizers"}
            if left:
                obj["spec"]["finalizers"] = left
            return obj

        self._api.modify(kind(self._api), Place("", "v1", NAMESPACES, "", namespace, "finalize"), MANAGER, emptied)


def _ends(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]
