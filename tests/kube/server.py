"""The API server of tests: a sandbox in the test's own event loop, with what happens behind the client's back.

    async with api_server() as api:
        api.put(config_map("a"))                    # another client's write
        api.faults.add(Fault("answer", status=503)) # `kubesandbox/faults.py`

What no API server answers by itself, broken lines or old discovery, is in the tests that need it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web
from aiohttp.test_utils import RawTestServer

from kubesandbox.faults import Faults
from kubesandbox.kinds import Kind
from kubesandbox.query.requests import DeleteParameters, Place, WriteParameters
from kubesandbox.sandbox import Options, Sandbox, serving
from kubesandbox.server import SandboxServer
from kubesandbox.store import Key
from kubesandbox.verbs.bodies import Body

JSON = Any
OTHER_CLIENT = WriteParameters(manager="another-client")
USUAL = Options()


@dataclass(frozen=True, slots=True)
class Request:
    """One that the server has received."""

    method: str
    path: str
    params: dict[str, str]

    @property
    def verb(self) -> str:
        """As in RBAC."""
        if self.method != "GET":
            return self.method
        return "watch" if "watch" in self.params else "list" if "limit" in self.params else "get"


@dataclass(frozen=True, slots=True)
class ApiServer:
    """A sandbox, reached at `url`."""

    sandbox: Sandbox
    url: str

    @property
    def faults(self) -> Faults:
        return self.sandbox.faults

    @property
    def requests(self) -> list[Request]:
        return [_request(line) for line in self.faults.requests]

    def asked(self, verb: str) -> list[Request]:
        return [request for request in self.requests if request.verb == verb]

    def put(self, obj: JSON) -> JSON:
        """Create or replace an object; as it is then."""
        kind, where = self._place(obj)
        write = self.sandbox.api.update if self.get(obj) else self.sandbox.api.create
        return write(kind, where, OTHER_CLIENT, Body(obj)).obj

    def get(self, obj: JSON) -> JSON:
        """The object as it is now, None if it is gone."""
        kind, where = self._place(obj)
        stored = self.sandbox.store.get(Key(kind.stored, where.namespace, where.name))
        return stored.json() if stored else None

    def delete(self, obj: JSON) -> None:
        kind, where = self._place(obj)
        self.sandbox.api.delete(kind, where, DeleteParameters())

    def compact(self) -> None:
        """Forget the history, as etcd does from time to time."""
        self.sandbox.store.compact()

    def _place(self, obj: JSON) -> tuple[Kind, Place]:
        kind = self.sandbox.kinds.of_kind(obj["apiVersion"], obj["kind"])
        assert kind is not None
        metadata = obj["metadata"]
        return kind, Place(kind.group, kind.version, kind.plural, metadata.get("namespace", ""), metadata["name"])


@asynccontextmanager
async def api_server(options: Options = USUAL) -> AsyncIterator[ApiServer]:
    async with serving(options) as sandbox:
        yield ApiServer(sandbox, sandbox.url)


@asynccontextmanager
async def without_aggregation(api: ApiServer) -> AsyncIterator[ApiServer]:
    """The same API of a server that knows of no aggregated discovery, as before Kubernetes 1.27."""
    server = SandboxServer(api.sandbox.api, api.faults)

    async def answer(http: web.BaseRequest) -> web.StreamResponse:
        plain = {**http.headers, "Accept": "application/json"}
        return await server.answer(http.clone(headers=plain) if http.path in ("/api", "/apis") else http)

    async with RawTestServer(answer) as old:
        yield replace(api, url=str(old.make_url("")).rstrip("/"))


def _request(line: str) -> Request:
    method, _, rest = line.partition(" ")
    path, _, query = rest.partition("?")
    return Request(method, path, dict(parse_qsl(query)))
