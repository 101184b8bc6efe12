"""An API server for loops of the cloud, as an object with memory: it takes their writes, and its watches report them.

    api = FakeApi()
    api.put(node("a"))
    api.open(selection)                    # as `Watches.open`
    await writes.merge_patch(api.client, ref, patch)
    api.refuse("PATCH", "/nodes/a", Conflict(409, "Conflict", "stale"), times=2)

It knows what the loops rely on: a patch or a deletion with an old resourceVersion or another uid is 409, a subresource
changes the status and metadata alone, finalizers hold an object. Everything else is the matter of stories on the
sandbox and on a real control plane.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from hookrunner.errors import Conflict, KubeError, NotFound
from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.resources import ObjectKey
from kubetypes.openapi.documents import kind_schema
from kubetypes.patches import merge_patch, strategic
from tests.fakes.cluster import FakeCluster

DELETING = {"metadata": {"deletionTimestamp": "2026-11-23T00:00:00Z"}}
KINDS = {"nodes": "Node", "services": "Service", "events": "Event"}


@dataclass(frozen=True, slots=True)
class _Refusal:
    method: str
    path: str
    error: KubeError


@dataclass(eq=False)
class FakeApi:
    """`calls` has each write, `events` the Events, `before_write` is called before a write is done: for writers that
    are quicker. With `away` it does not answer."""

    cluster: FakeCluster = field(default_factory=FakeCluster)
    calls: list[ApiCall] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    before_write: Callable[[ApiCall], None] = lambda call: None
    away: KubeError | None = None
    _refusals: list[_Refusal] = field(default_factory=list)
    _uids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.open = self.cluster.watch

    @property
    def client(self) -> Client:
        """It has the two methods that writes need."""
        return cast(Client, self)

    def put(self, obj: Any) -> Any:
        """Create or replace an object, as another client would."""
        metadata = {"uid": f"uid-{next(self._uids)}"} | obj["metadata"]
        return self.cluster.put({**obj, "metadata": metadata})

    def change(self, kind: str, name: str, patch: Any, namespace: str = "") -> Any:
        """Merge a patch into an object, as another client would."""
        return self.cluster.put(merge_patch.apply(self.live(kind, name, namespace), patch))

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        """Delete an object at once, as another client would."""
        self.cluster.delete(self.live(kind, name, namespace))

    def live(self, kind: str, name: str, namespace: str = "") -> Any:
        """The object. Raises NotFound."""
        try:
            return self.cluster.objects[ObjectKey(namespace, kind, name)]
        except KeyError:
            raise NotFound(404, "NotFound", f"{kind} {name} not found") from None

    def has(self, kind: str, name: str, namespace: str = "") -> bool:
        """Does the object exist?"""
        return ObjectKey(namespace, kind, name) in self.cluster.objects

    def refuse(self, method: str, path_end: str, error: KubeError, times: int = 1) -> None:
        """Refuse the next requests of this method whose path ends so."""
        self._refusals += [_Refusal(method, path_end, error)] * times

    def accept_all(self) -> None:
        """Refuse nothing from now on."""
        self._refusals.clear()

    def written(self, method: str = "PATCH") -> list[str]:
        """The last parts of the paths of all writes of a method but Events: `nodes/a`, `nodes/a/status`."""
        paths = [call.path for call in self.calls if call.method == method and "/events" not in call.path]
        return [path.removeprefix("/api/v1/").partition("services/")[2] or path[8:] for path in paths]

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, accept: str = "", timeout: float = 0.0
    ) -> Any:
        """As `Client.get`, of one object."""
        self._refuse("GET", path)
        return self.live(*_place(path)[0])

    async def send(self, call: ApiCall) -> bytes:
        """As `Client.send`, of a write."""
        if call.method == "GET":
            return orjson.dumps(await self.get(call.path))
        self.before_write(call)
        self._refuse(call.method, call.path)
        self.calls.append(call)
        if "/events" in call.path:
            return orjson.dumps(self._write_event(call))
        (kind, name, namespace), subresource = _place(call.path)
        live = self.live(kind, name, namespace)
        return orjson.dumps(self._patch(live, call, subresource) if call.method == "PATCH" else self._drop(live, call))

    def _write_event(self, call: ApiCall) -> Any:
        if call.method == "POST":
            self.events.append(call.body)
            return call.body
        (event,) = [event for event in self.events if call.path.endswith("/" + event["metadata"]["name"])]
        event.update(call.body)
        return event

    def _patch(self, live: Any, call: ApiCall, subresource: str) -> Any:
        body: Any = call.body
        for key in ("resourceVersion", "uid"):
            if (body.get("metadata") or {}).get(key) not in (None, live["metadata"][key]):
                raise Conflict(409, "Conflict", f"the object has been modified, or is another: {key}")
        patched = _apply_patch(live, body, call.content_type)
        part = ("metadata", "status") if subresource else tuple(patched.keys() - {"status"})
        merged = live | {key: patched[key] for key in part if key in patched}
        if merged == live:
            return live
        if merged["metadata"].get("deletionTimestamp") and not merged["metadata"].get("finalizers"):
            self.cluster.delete(live)
            return merged
        return self.cluster.put(merged)

    def _drop(self, live: Any, call: ApiCall) -> Any:
        body: Any = call.body
        conditions = (body or {}).get("preconditions") or {}
        if any(live["metadata"][key] != value for key, value in conditions.items()):
            raise Conflict(409, "Conflict", "Precondition failed: UID in precondition")
        if live["metadata"].get("finalizers"):
            return self.cluster.put(merge_patch.apply(live, DELETING))
        self.cluster.delete(live)
        return live

    def _refuse(self, method: str, path: str) -> None:
        if self.away:
            raise self.away
        for refusal in self._refusals:
            if refusal.method == method and path.endswith(refusal.path):
                self._refusals.remove(refusal)
                raise refusal.error


def _apply_patch(live: Any, body: Any, content_type: str) -> Any:
    if "strategic" not in content_type:
        return merge_patch.apply(live, body)
    schema = kind_schema(live["apiVersion"], live["kind"])
    assert schema
    return strategic.apply(live, body, schema)


def _place(path: str) -> tuple[tuple[str, str, str], str]:
    """Kind, name and namespace of an object's path, and the subresource."""
    parts = path.removeprefix("/api/v1/").split("/")
    namespace = parts[1] if parts[0] == "namespaces" else ""
    plural, name, *subresource = parts[2:] if namespace else parts
    return (KINDS[plural], name, namespace), "".join(subresource)
