"""The cluster that is watched: ConfigMaps by the ten thousand, one request at a time or many at once."""

import asyncio
import re
import ssl
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
from yarl import URL

from tests.controlplane.build import find_binaries
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.kubeconfig import read_kubeconfig

SIZE = 1000
"""Bytes of data in a ConfigMap."""

_WRITERS = 8
_REQUESTS = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE", "APPLY"})


class Refused(Exception):
    """The API server did not take a request; the message is what it said."""


class Cluster:
    """A session with an API server."""

    def __init__(self, kubeconfig: Path, session: aiohttp.ClientSession) -> None:
        self.kubeconfig = kubeconfig
        self._session = session

    async def make_namespace(self, name: str) -> None:
        """Make it unless it is there."""
        await self._send("POST", "/api/v1/namespaces", {"metadata": {"name": name}}, also=409)

    async def fill(self, namespace: str, count: int) -> None:
        """Let a namespace have `count` ConfigMaps, of which any may be there already."""
        await self.make_namespace(namespace)
        there = len((await self.read(f"{_maps(namespace)}?limit=0"))["items"])
        await self.create(namespace, [config_map(f"map-{number:06}") for number in range(there, count)])

    async def create(self, namespace: str, objects: list[dict[str, Any]]) -> None:
        """Create objects as fast as they are taken."""
        await self.post_all([(_maps(namespace), obj) for obj in objects])

    async def post_all(self, objects: list[tuple[str, dict[str, Any]]]) -> None:
        """The same with objects of any kind, each after the path of its collection."""
        waiting = iter(objects)

        async def write() -> None:
            for path, obj in waiting:
                await self._send("POST", path, obj)

        await asyncio.gather(*(write() for _ in range(_WRITERS)))

    async def count(self, lists: list[str]) -> int:
        """How many objects all these lists have."""
        return sum([len((await self.read(path))["items"]) for path in lists])

    async def write(self, namespace: str, obj: dict[str, Any]) -> None:
        """Create one object."""
        await self._send("POST", _maps(namespace), obj)

    async def post(self, path: str, obj: dict[str, Any]) -> None:
        """Create an object of any kind."""
        await self._send("POST", path, obj)

    async def put(self, path: str, obj: dict[str, Any]) -> None:
        """Replace an object of any kind."""
        await self._send("PUT", path, obj)

    async def patch(self, namespace: str, name: str, data: dict[str, str]) -> None:
        """Change keys of a ConfigMap."""
        await self.merge(f"{_maps(namespace)}/{name}", {"data": data})

    async def merge(self, path: str, change: dict[str, Any]) -> None:
        """Change fields of an object, or of its status, by a merge patch."""
        await self._send("PATCH", path, change, headers={"Content-Type": "application/merge-patch+json"})

    def reached_by(self, kubeconfig: Path) -> "Cluster":
        """The same cluster, which programs reach by another kubeconfig."""
        return Cluster(kubeconfig, self._session)

    async def repeat(self, method: str, target: str, headers: Mapping[str, str], body: str) -> int:
        """Send a request as it is, read its answer, and return its status. `target` is the path with the raw query."""
        url, data = URL(target, encoded=True), body.encode() or None
        async with self._session.request(method, url, data=data, headers=headers) as response:
            await response.read()
            return response.status

    async def read(self, path: str) -> Any:
        """An object or a list; None if there is no such thing."""
        async with self._session.get(path) as response:
            if response.status == 404:
                return None
            if response.status >= 300:
                raise Refused(f"GET {path} → {response.status}: {await response.text()}")
            return await response.json()

    async def count_write_requests(self, resources: Collection[str]) -> int:
        """How many requests to write objects of these resources the API server has answered so far."""
        async with self._session.get("/metrics") as response:
            text = await response.text()
        found = 0
        for labels, number in _REQUESTS.findall(text):
            of = dict(_LABEL.findall(labels))
            found += int(float(number)) if of["resource"] in resources and of["verb"] in _WRITES else 0
        return found

    async def clear(self, namespace: str) -> None:
        """Delete all ConfigMaps of a namespace."""
        await self._send("DELETE", _maps(namespace))

    async def remove(self, path: str) -> None:
        """Delete an object, if it is there."""
        await self._send("DELETE", path, also=404)

    async def list_seconds(self, namespace: str) -> float:
        """How long a list of a whole namespace takes, unpaged and unread."""
        began = time.perf_counter()
        async with self._session.get(_maps(namespace)) as response:
            await response.read()
        return time.perf_counter() - began

    async def watch(self, namespace: str) -> AsyncGenerator[bytes, None]:
        """Watch events of all ConfigMaps of a namespace, not parsed, without an end."""
        async with aclosing(self.watch_path(_maps(namespace))) as lines:
            async for line in lines:
                yield line

    async def watch_path(self, path: str, after: str = "") -> AsyncGenerator[bytes, None]:
        """The same of any collection: what is there, and what happens; or what has happened after a
        resourceVersion."""
        params = {"watch": "true"} | ({"resourceVersion": after} if after else {})
        timeout = aiohttp.ClientTimeout(total=None)
        async with self._session.get(path, params=params, timeout=timeout) as response:
            async for line in response.content:
                yield line

    async def open_watches(self, namespace: str, count: int) -> float:
        """How long it takes to open so many watches of ConfigMaps, each on a connection of its own, and to be told of
        the first object of each."""
        began = time.perf_counter()
        await asyncio.gather(*(self._open_watch(namespace) for _ in range(count)))
        return time.perf_counter() - began

    async def _open_watch(self, namespace: str) -> None:
        params = {"watch": "true", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        params |= {"allowWatchBookmarks": "true"}
        async with self._session.get(_maps(namespace), params=params) as response:
            await response.content.readline()

    async def _send(
        self, method: str, path: str, body: object = None, also: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        async with self._session.request(method, path, json=body, headers=headers) as response:
            text = await response.text()
            if response.status >= 300 and response.status != also:
                raise Refused(f"{method} {path} → {response.status}: {text}")


def config_map(name: str) -> dict[str, Any]:
    """A ConfigMap of `SIZE` bytes."""
    return {"metadata": {"name": name, "labels": {"color": "green"}}, "data": {"text": f"{name} ".ljust(SIZE, "x")}}


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[Cluster]:
    """A session with the API server of a kubeconfig of the test bed."""
    access = read_kubeconfig(kubeconfig)
    trust = ssl.create_default_context(cafile=str(access.ca))
    headers = {"Authorization": f"Bearer {access.token}", "Accept-Encoding": "identity"}
    connector = aiohttp.TCPConnector(ssl=trust, limit=0)
    async with aiohttp.ClientSession(access.url, headers=headers, connector=connector) as session:
        yield Cluster(kubeconfig, session)


@contextmanager
def control_plane(given: Path | None) -> Iterator[Path]:
    """The kubeconfig of a cluster: the one that is given, or etcd and an API server of our own."""
    if given is not None:
        yield given
        return
    with (
        tempfile.TemporaryDirectory(prefix="hookrunner-benchmarks-") as directory,
        ControlPlane(find_binaries(), Path(directory), controllers=False) as plane,
    ):
        yield plane.kubeconfig


def _maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"
