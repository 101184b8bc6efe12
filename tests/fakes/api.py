"""A Kubernetes API server with a memory, on 127.0.0.1, for faults and for virtual time. It stores whatever it is given.

    async with FakeApi() as api:
        api.put(config_map("a"))               # behind the client's back; `api.delete` too
        api.failures.append((503, "", {}))     # the next request gets this status, reason and headers
        api.conflicts = 2                      # the next PUTs come too late
    api.cut() · api.silent = True · api.expire() · api.tell(line)    # break, hush, compact, lie to open watches

It knows lists (with pages), watches (bookmarks on `api.bookmark()`, streamed lists), 410, and simple writes with
conflicts. No patches, no validation, no selectors beyond `metadata.name`: those are tested on the real one.
"""

import asyncio
import copy
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl

import orjson
from aiohttp import web

JSON = Any
_BUILT_IN = [("v1", "ConfigMap", "configmaps", ["cm"], True), ("v1", "Namespace", "namespaces", ["ns"], False)]


def config_map(name: str, namespace: str = "default", **data: str) -> JSON:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


@dataclass
class Request:
    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def verb(self) -> str:
        """As in RBAC."""
        if self.method != "GET":
            return self.method
        return "watch" if "watch" in self.params else "list" if "limit" in self.params else "get"


@dataclass
class FakeApi:
    kinds: list[tuple[str, str, str, list[str], bool]] = field(default_factory=lambda: list(_BUILT_IN))
    streams_lists: bool = True
    aggregates: bool = True
    objects: dict[tuple[str, str, str], JSON] = field(default_factory=dict)
    history: list[tuple[int, str, str, JSON]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    failures: list[tuple[int, str, dict[str, str]]] = field(default_factory=list)
    compacted: int = 0
    silent: bool = False
    conflicts: int = 0
    deaf: bool = False
    broken: set[str] = field(default_factory=set)
    watching: int = 0

    def __post_init__(self) -> None:
        self._version = itertools.count(1000)
        self.version = 1000
        self._changed = asyncio.Event()
        self._transports: set[asyncio.BaseTransport] = set()

    async def __aenter__(self) -> Self:
        self._runner = web.ServerRunner(
            web.Server(self._answer, access_log=None, handler_cancellation=True), shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        await self._runner.cleanup()

    def asked(self, verb: str) -> list[Request]:
        return [request for request in self.requests if request.verb == verb]

    def put(self, obj: JSON, version: int | None = None) -> JSON:
        """Create or replace. An explicit version is an old one: it is no news to watches."""
        plural = next(plural for api, kind, plural, *_ in self.kinds if kind == obj["kind"])
        key = (plural, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        event = "MODIFIED" if key in self.objects else "ADDED"
        obj = copy.deepcopy(obj)
        if version is None:
            self._happen(event, plural, obj)
        else:
            obj["metadata"]["resourceVersion"] = str(version)
        self.objects[key] = obj
        return obj

    def delete(self, name: str, namespace: str = "default", plural: str = "configmaps") -> None:
        self._happen("DELETED", plural, copy.deepcopy(self.objects.pop((plural, namespace, name))))

    def bookmark(self) -> None:
        self._happen("BOOKMARK", "", {"metadata": {}})

    def expire(self) -> None:
        """Forget the history, as etcd's compaction does."""
        self.compacted = self.version

    def tell(self, line: bytes, again: bool = False) -> None:
        """Send a raw line on the open watch; again on each that comes from before it, if so asked."""
        self._happen(line.decode(), "poison" if again else "raw", {"metadata": {}})

    def cut(self) -> None:
        """Break all connections."""
        for transport in self._transports:
            transport.abort()  # type: ignore[attr-defined]
        self._transports.clear()

    def _happen(self, event: str, plural: str, obj: JSON) -> None:
        self.version = next(self._version) + 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        self.history.append((self.version, event, plural, obj))
        self._changed.set()
        self._changed = asyncio.Event()

    async def _answer(self, http: web.BaseRequest) -> web.StreamResponse:
        params = dict(parse_qsl(http.rel_url.raw_query_string))
        request = Request(http.method, http.path, params, dict(http.headers), await http.read())
        self.requests.append(request)
        if self.failures:
            status, reason, headers = self.failures.pop(0)
            return refusal(status, reason, headers=headers)
        if http.path in self.broken:
            return refusal(503)
        while self.deaf:
            await self._changed.wait()
        place = self._place(http.path)
        if place is None:
            found = self._discovery(http.path)
            return web.json_response(found) if found else refusal(404, "NotFound")
        if request.verb == "watch":
            return await self._watch(http, params, place)
        return self._read_or_write(request, place)

    def _place(self, path: str) -> tuple[JSON, str, str] | None:
        """(kind, namespace, name) that a path is about."""
        for kind in self.kinds:
            root = ("/apis/" if "/" in kind[0] else "/api/") + kind[0]
            rest = path.removeprefix(root).strip("/").split("/")
            namespace = rest[1] if rest[0] == "namespaces" and len(rest) > 2 else ""
            rest = rest[2:] if namespace else rest
            if path.startswith(root) and rest[0] == kind[2]:
                return kind, namespace, rest[1] if len(rest) > 1 else ""
        return None

    def _discovery(self, path: str) -> JSON:
        groups = sorted({api.rpartition("/")[0] for api, *_ in self.kinds})
        wanted = [group for group in groups if bool(group) == (path == "/apis")]
        if path in ("/api", "/apis") and self.aggregates:
            return {"kind": "APIGroupDiscoveryList", "items": [self._group(group) for group in wanted]}
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            return {"kind": "APIGroupList", "groups": [self._plain_group(group) for group in wanted]}
        kinds = [kind for kind in self.kinds if path in (f"/api/{kind[0]}", f"/apis/{kind[0]}")]
        items = [
            {"name": plural, "kind": kind, "namespaced": scoped, "shortNames": short, "verbs": ["list", "watch"]}
            for _, kind, plural, short, scoped in kinds
        ]
        return {"kind": "APIResourceList", "groupVersion": kinds[0][0], "resources": items} if kinds else None

    def _plain_group(self, group: str) -> JSON:
        versions = [{"groupVersion": v} for v in dict.fromkeys(api for api, *_ in self.kinds if api.startswith(group))]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def _group(self, group: str) -> JSON:
        versions: dict[str, list[JSON]] = {}
        for api, kind, plural, short, scoped in self.kinds:
            if api.rpartition("/")[0] == group:
                scope = "Namespaced" if scoped else "Cluster"
                item = {"resource": plural, "responseKind": {"kind": kind}, "scope": scope, "shortNames": short}
                versions.setdefault(api.rpartition("/")[2], []).append(item | {"verbs": ["list", "watch"]})
        found = [{"version": version, "resources": items} for version, items in versions.items()]
        return {"metadata": {"name": group} if group else {}, "versions": found}

    def _selected(self, place: tuple[JSON, str, str]) -> list[JSON]:
        (_, _, plural, *_), namespace, _ = place
        found = [(key, obj) for key, obj in self.objects.items() if key[0] == plural and namespace in ("", key[1])]
        return [obj for _, obj in found]

    def _list(self, params: dict[str, str], place: tuple[JSON, str, str]) -> web.Response:
        items = self._selected(place)
        start, limit = int(params.get("continue") or 0), int(params.get("limit") or 0) or len(items) or 1
        if params.get("continue") and self.compacted:
            return refusal(410, "Expired")
        metadata = {"resourceVersion": str(self.version)}
        if start + limit < len(items):
            metadata["continue"] = str(start + limit)
        bare = [{k: v for k, v in obj.items() if k not in ("kind", "apiVersion")} for obj in items]
        return web.json_response({"kind": "List", "metadata": metadata, "items": bare[start : start + limit]})

    def _read_or_write(self, request: Request, place: tuple[JSON, str, str]) -> web.Response:
        (_, kind, plural, *_), namespace, name = place
        if request.method == "GET" and not name:
            return self._list(request.params, place)
        sent = orjson.loads(request.body) if request.body else {}
        key = (plural, namespace, name or sent.get("metadata", {}).get("name", ""))
        known = self.objects.get(key)
        if request.method == "POST":
            return refusal(409, "AlreadyExists") if known else web.json_response(self.put({"kind": kind} | sent))
        if known is None:
            return refusal(404, "NotFound")
        if request.method == "DELETE" and not known["metadata"].get("finalizers"):
            self.delete(key[2], namespace, plural)
        if request.method == "PUT":
            if self.conflicts > 0:
                self.conflicts -= 1
                known = self.put(known)
            if sent["metadata"].get("resourceVersion") != known["metadata"]["resourceVersion"]:
                return refusal(409, "Conflict")
            known = self.put(sent)
        return web.json_response(known)

    async def _watch(
        self, http: web.BaseRequest, params: dict[str, str], place: tuple[JSON, str, str]
    ) -> web.StreamResponse:
        initial = "sendInitialEvents" in params
        if initial and not self.streams_lists:
            return refusal(422, "Invalid")
        version = int(params.get("resourceVersion", self.version))
        if version < self.compacted:
            return refusal(410, "Expired")
        response = web.StreamResponse()
        await response.prepare(http)
        assert http.transport is not None
        self._transports.add(http.transport)
        with suppress(ConnectionError), self._counted():
            async for line in self._lines(place, version, initial):
                await response.write(line + b"\n")
        return response

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self.watching += 1
        try:
            yield
        finally:
            self.watching -= 1

    async def _lines(self, place: tuple[JSON, str, str], version: int, initial: bool) -> AsyncIterator[bytes]:
        (_, _, plural, *_), namespace, _ = place
        if initial:
            for obj in self._selected(place):
                yield orjson.dumps({"type": "ADDED", "object": obj})
            mark = {"resourceVersion": str(version), "annotations": {"k8s.io/initial-events-end": "true"}}
            yield orjson.dumps({"type": "BOOKMARK", "object": {"metadata": mark}})
        while True:
            while self.silent or self.version == version:
                await self._changed.wait()
            news, version = [entry for entry in self.history if entry[0] > version], self.version
            for entry in news:
                _, event, of, obj = entry
                if of == "raw":
                    self.history.remove(entry)
                if of in ("raw", "poison"):
                    yield event.encode()
                elif event == "BOOKMARK" or (of == plural and namespace in ("", obj["metadata"].get("namespace"))):
                    yield orjson.dumps({"type": event, "object": obj})


def refusal(status: int, reason: str = "", headers: dict[str, str] | None = None) -> web.Response:
    if reason.startswith("<"):
        return web.Response(text=reason, status=status)
    body = {"kind": "Status", "code": status, "reason": reason, "message": f"refused: {reason or status}"}
    return web.json_response(body, status=status, headers=headers)


@asynccontextmanager
async def no_server() -> AsyncIterator[str]:
    """An address where nobody listens."""
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    yield f"http://127.0.0.1:{port}"
