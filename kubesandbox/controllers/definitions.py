"""CustomResourceDefinitions: what they define is served as soon as their names are accepted, and goes when they go."""

from dataclasses import replace

from kubesandbox.kinds import Kind
from kubesandbox.query.requests import DeleteParameters, Place, WriteParameters
from kubesandbox.store import Key, StoreChange
from kubesandbox.structural import versions
from kubesandbox.structural.definitions import definition_status
from kubesandbox.times import rfc3339
from kubesandbox.verbs.api import Api, Step
from kubesandbox.verbs.deletion import CLEANUP
from kubesandbox.verbs.rules import DEFINITIONS, Object
from kubetypes.json_values import JSON

ENDING = {
    "type": "Terminating",
    "status": "True",
    "reason": "InstanceDeletionInProgress",
    "message": "CustomResource deletion is in progress",
}
MANAGER = WriteParameters(manager="kube-apiserver")


class DefinitionController:
    """Keeps `Kinds` and the status of definitions in step with the stored definitions."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._served: dict[str, JSON] = {}

    def sweep(self) -> None:
        """Take over the definitions that are there already."""
        for stored in self._api.store.select(DEFINITIONS):
            self._settle(stored.key.name)

    def happened(self, change: StoreChange) -> None:
        """React to one change: of a definition, or the end of the last object of one that is being deleted."""
        if change.key.resource == DEFINITIONS:
            self._settle(change.key.name)
            if change.after is None:
                self._hand_on_names(change.key.name)
        elif change.after is None and "." in change.key.resource:
            self._finish(change.key.resource)

    def _settle(self, name: str) -> None:
        """Write a definition's status and serve its kinds; delete the objects of one that is being deleted."""
        stored = self._api.store.get(Key(DEFINITIONS, "", name))
        if stored is None:
            self._serve(name, {})
            return
        crd = stored.json()
        status = definition_status.status(crd, self._rivals(name), rfc3339(self._api.now()))
        ends = "deletionTimestamp" in crd["metadata"]
        if ends:
            status["conditions"] = [one for one in status["conditions"] if one["type"] != "Terminating"] + [ENDING]
        if status != crd.get("status"):
            self._modify(name, "status", lambda old: old | {"status": status})
        self._serve(name, crd | {"status": status})
        if ends:
            self._empty(name)

    def _rivals(self, name: str) -> list[JSON]:
        """The other definitions of a definition's group, which its name says (`plural.group`)."""
        group = name.partition(".")[2]
        stored = self._api.store.select(DEFINITIONS)
        return [one.json() for one in stored if one.key.name.partition(".")[2] == group and one.key.name != name]

    def _hand_on_names(self, name: str) -> None:
        """Names that a deleted definition held may be those that another one waits for."""
        for rival in self._rivals(name):
            if not definition_status.has_its_names(rival):
                self._settle(rival["metadata"]["name"])

    def _serve(self, name: str, crd: JSON) -> None:
        """What a definition defines. Where that changes, objects from before are read by the new schema, and watches
        end; labels and conditions change nothing."""
        counts = (
            (crd["metadata"]["uid"], crd["spec"], crd["status"]["acceptedNames"]) if versions.established(crd) else None
        )
        if counts == self._served.get(name):
            return
        self._served[name] = counts
        kinds = [replace(kind, since=self._api.store.revision) for kind in versions.kinds(crd)] if counts else []
        plural, _, group = name.partition(".")
        self._api.kinds.replace(group, plural, kinds)
        self._api.store.ring(name)

    def _empty(self, name: str) -> None:
        kind = self._api.kinds.of_stored(name)
        if kind is not None and kind.custom:
            self._api.delete_all(kind, "", DeleteParameters())
        self._finish(name)

    def _finish(self, name: str) -> None:
        """Let a definition go whose objects are gone."""
        stored = self._api.store.get(Key(DEFINITIONS, "", name))
        kind = self._api.kinds.of_stored(name)
        is_its_own = kind is None or kind.custom
        if stored is None or (is_its_own and self._api.store.select(name)):
            return
        if "deletionTimestamp" in (meta := stored.json()["metadata"]) and CLEANUP in meta.get("finalizers", ()):
            self._modify(name, "", _without_finalizer)

    def _modify(self, name: str, subresource: str, change: Step) -> None:
        kind = self._kind()
        self._api.modify(kind, Place(kind.group, kind.version, kind.plural, "", name, subresource), MANAGER, change)

    def _kind(self) -> Kind:
        kind = self._api.kinds.of_stored(DEFINITIONS)
        assert kind is not None
        return kind


def _without_finalizer(obj: Object) -> Object:
    left = [one for one in obj["metadata"].get("finalizers", ()) if one != CLEANUP]
    obj["metadata"].pop("finalizers", None)
    if left:
        obj["metadata"]["finalizers"] = left
    return obj
