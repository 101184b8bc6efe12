"""Many instances of one addon, each in a namespace of its own, and a client that cuts each of them off at another
write: for the API server as if the process had been killed there, and all places in one process.

    places = Places(client, wire)
    await places.create(range(12))
    wire.cut_off({place: writes})
"""

import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

from hookrunner.errors import Denied, Unreachable
from hookrunner.kube.client import ApiCall, Client
from kubetypes.json_values import JSON
from tests.fakes.deaths import Death
from tests.flows.waiting import until_is
from tests.releases.world import exists
from tests.trees import write_files

GROUP = "addons.x-k8s.io/v1alpha1"
MERGE = "application/merge-patch+json"
ADDON = """\
object: {kind: Thing}
instances: many
text: {"{{ .Place }}": addon.namespace}
"""
OWN = """\
apiVersion: v1
kind: Namespace
metadata: {name: "own-{{ .Place }}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inside, namespace: "own-{{ .Place }}"}
"""
MAP = """\
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data: {{x: "{value}"}}
"""
LATE = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: late}
spec:
  selector: {matchLabels: {app: late}}
  template:
    metadata: {labels: {app: late}}
    spec: {containers: [{name: late, image: "late:1"}]}
"""
PACKAGES = {
    "1.0.0": OWN + MAP.format(name="a", value=1) + MAP.format(name="b", value=1),
    "2.0.0": OWN + MAP.format(name="a", value=2) + MAP.format(name="c", value=1),
    "3.0.0": OWN + MAP.format(name="a", value=3) + LATE,
}
OLD, NEW = {"a": "1", "b": "1"}, {"a": "2", "c": "1"}

_PLACE = re.compile(r"\b(n[0-9]+)\b")


def write_addon(directory: Path, packages: Mapping[str, str] = PACKAGES, more: str = "") -> None:
    """The addon `thing`, whose channel leads to the first of these versions. The last one never becomes healthy."""
    addon = directory / "addons/thing"
    texts = {"addon.yaml": ADDON + more, "openapi/spec.yaml": "type: object\n"}
    texts["channels/stable"] = f"manifests: [{{version: {next(iter(packages))}}}]\n"
    for version, text in packages.items():
        texts[f"channels/packages/thing/{version}/objects.yaml"] = text
    write_files(addon, texts)


class Wire(Client):
    """A client through which each place gets only so many writes, Events not counted; those after them fail, as long as
    it is cut off. There is no right for the request `forbidden`, a method and a path; `broken` meets a fault of our
    own. `streams` are the paths of the watches that are read."""

    deaths: dict[str, Death]
    streams: tuple[str, ...] = ()
    forbidden: str = ""
    broken: str = ""

    def cut_off(self, left: Mapping[str, int], refused: Iterable[str] = ()) -> None:
        """From now on each of these places may write so often. Then the API server is away, or has no right for those
        that are refused."""
        causes = {place: partial(_no_right if place in {*refused} else _unreachable, place) for place in left}
        self.deaths = {place: Death(writes, cause=causes[place]) for place, writes in left.items()}

    @property
    def left(self) -> dict[str, int]:
        """The writes that each place still has."""
        return {place: max(0, death.at - death.steps) for place, death in self.deaths.items()}

    async def stream(self, path: str, *args: Any, **more: Any) -> AsyncGenerator[list[bytes], None]:
        self.streams = (*self.streams, path)
        try:
            async with aclosing(super().stream(path, *args, **more)) as chunks:
                async for chunk in chunks:
                    yield chunk
        finally:
            left = [*self.streams]
            left.remove(path)
            self.streams = (*left,)

    async def send(self, call: ApiCall) -> bytes:
        if f"{call.method} {call.path}" == self.forbidden:
            raise _no_right(self.forbidden)
        if f"{call.method} {call.path}" == self.broken:
            raise KeyError("a value that no message may quote")
        place, is_event = _place_of(call), "/events" in call.path
        if place in self.deaths:
            return await self.deaths[place].step(partial(super().send, call), counts=not is_event)
        return await super().send(call)


def _unreachable(place: str) -> Unreachable:
    return Unreachable(f"{place} is cut off")


def _no_right(what: str) -> Denied:
    """In the API server's words."""
    return Denied(403, "Forbidden", f'{what} is forbidden: User "u" cannot write resource "x"')


def _place_of(call: ApiCall) -> str:
    """The place that a write is for; empty for reads and for what changes nothing."""
    if call.method == "GET" or "dryRun" in call.params:
        return ""
    name = (call.body.get("metadata") or {}).get("name", "") if call.method == "POST" else ""
    match = _PLACE.search(f"{call.path} {name}")
    return match[1] if match else ""


class Places:
    """What users do in places, and what they see there; a place is the name of its namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self, places: Iterable[str], **spec: JSON) -> None:
        """An instance `x` in each, in a namespace that is made for it, with the account that it names."""
        for place in places:
            await self._client.send(ApiCall("POST", "/api/v1/namespaces", body={"metadata": {"name": place}}))
            if account := spec.get("serviceAccountName"):
                path = f"/api/v1/namespaces/{place}/serviceaccounts"
                await self._client.send(ApiCall("POST", path, body={"metadata": {"name": account}}))
            body = {"apiVersion": GROUP, "kind": "Thing", "metadata": {"name": "x"}, "spec": spec}
            await self._client.send(ApiCall("POST", f"/apis/{GROUP}/namespaces/{place}/things", body=body))

    async def until_served(self) -> None:
        """Wait until the kind can be listed."""
        await until_is(lambda: exists(self._client, f"/apis/{GROUP}/things"), True, "the kind is served")

    async def change(self, places: Iterable[str], spec: JSON) -> None:
        """Change the spec of each."""
        for place in places:
            await self.patch(f"/apis/{GROUP}/namespaces/{place}/things/x", {"spec": spec})

    async def patch(self, path: str, body: JSON) -> None:
        """Merge this into an object."""
        await self._client.send(ApiCall("PATCH", path, {}, body, MERGE))

    async def delete(self, places: Iterable[str], policy: str = "Background") -> None:
        """Delete the instance in each."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy}
        for place in places:
            await self._client.send(ApiCall("DELETE", f"/apis/{GROUP}/namespaces/{place}/things/x", body=body))

    async def statuses(self) -> dict[str, Any]:
        """The status of each instance, by its place."""
        items = (await self._client.get(f"/apis/{GROUP}/things"))["items"]
        return {item["metadata"]["namespace"]: item.get("status") or {} for item in items}

    async def phases(self) -> dict[str, str]:
        """The phase of each instance, by its place."""
        return {place: status.get("phase", "") for place, status in (await self.statuses()).items()}

    async def exist(self, places: Iterable[str]) -> bool:
        """Is any of these namespaces left?"""
        items = (await self._client.get("/api/v1/namespaces"))["items"]
        return not {item["metadata"]["name"] for item in items}.isdisjoint(places)

    async def maps(self) -> dict[str, dict[str, Any]]:
        """The ConfigMaps in each place, and in the namespaces that the addon creates: what `x` is in their data."""
        found: dict[str, dict[str, Any]] = {}
        for item in (await self._client.get("/api/v1/configmaps"))["items"]:
            metadata = item["metadata"]
            if not metadata["name"].startswith("kube-root"):
                found.setdefault(metadata["namespace"], {})[metadata["name"]] = (item.get("data") or {}).get("x")
        return found

    async def told(self, reason: str) -> set[str]:
        """The places whose instances have an Event with this reason."""
        items = (await self._client.get("/api/v1/events"))["items"]
        return {item["metadata"]["namespace"] for item in items if item["reason"] == reason}

    async def messages(self, place: str, reason: str) -> list[str]:
        """What Events with this reason say about the instance in a place."""
        items = (await self._client.get(f"/api/v1/namespaces/{place}/events"))["items"]
        about = [item for item in items if item["involvedObject"]["apiVersion"] == GROUP]
        return [item["message"] for item in about if item["reason"] == reason]

    async def records(self) -> list[str]:
        """The names of all release records."""
        items = (await self._client.get("/api/v1/namespaces/default/secrets"))["items"]
        return sorted(item["metadata"]["name"].removeprefix("sh.helm.release.v1.") for item in items)
