"""A registry with memory, which takes what is pushed, asks for logins, limits, breaks off and lies as a test says.

async with registry_server() as registry:
    registry.push("addons/coredns", "1.14.6", artifact)
    source = registry.source()
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

from aiohttp import web

from hookrunner.packages.host_credentials import HostCredentials, Login
from hookrunner.packages.https_reader import HttpsReader
from hookrunner.packages.oci.oci_memory import OciMemory
from hookrunner.packages.oci.oci_source import OciSource
from hookrunner.packages.oci.registry_client import RegistryClient
from hookrunner.packages.oci_locations import RegistryLocation
from tests.packages.oci.artifacts import Artifact, sha256
from tests.packages.web_place import serve

USER = Login("me", "pass:word")
REPOSITORY = "team/addons"


@dataclass
class GivenCredentials:
    """Logins that a test has."""

    credentials: HostCredentials = field(default_factory=HostCredentials)

    async def read(self) -> HostCredentials:
        return self.credentials


class RegistryServer:
    """What it has by repository and reference. `answers` replace what is sent for a path, one after the other; the last
    one stays. `requests` are those that came: path and status; `pushed` the paths of blobs and manifests that it took,
    blobs by their digests."""

    def __init__(self, reader: HttpsReader) -> None:
        self.reader = reader
        self.url = ""
        self.tags: dict[str, dict[str, str]] = {}
        self.manifests: dict[str, tuple[str, bytes]] = {}
        self.blobs: dict[str, bytes] = {}
        self.answers: dict[str, list[web.Response]] = {}
        self.requests: list[tuple[str, int]] = []
        self.pushed: list[str] = []
        self.asks_for = ""
        """`Basic` or `Bearer`: a login is needed."""
        self.tokens: list[str] = []
        """Those that were given; the last one counts."""
        self.token_requests: list[tuple[str, str]] = []
        """Query and login of each request for a token."""
        self.credentials = GivenCredentials()
        self.client = RegistryClient(reader, self.credentials)
        self.memory = OciMemory()

    def push(self, repository: str, tag: str, pushed: Artifact) -> None:
        for data in pushed.manifests.values():
            self.manifests[sha256(data)] = (json.loads(data)["mediaType"], data)
        self.manifests[sha256(pushed.manifest)] = (pushed.media_type, pushed.manifest)
        self.tags.setdefault(repository, {})[tag] = sha256(pushed.manifest)
        self.blobs |= pushed.blobs

    def push_package(self, version: str, pushed: Artifact) -> None:
        self.push(f"{REPOSITORY}/coredns", version, pushed)

    def source(self, timeout: float = 30.0) -> OciSource:
        """The source, as a new run opens it."""
        return OciSource(self.client.open(RegistryLocation(self.url, REPOSITORY)), self.memory, timeout)

    def log_in(self, login: Login = USER) -> None:
        """Give the client a login for this registry."""
        self.credentials.credentials = HostCredentials({self.url.partition("://")[2]: login})

    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.content.read()
        response = self._response(request) if request.method in ("GET", "HEAD") else self._take(request, body)
        self.requests.append((request.path, response.status))
        if response.headers.get("X-Silent"):
            await asyncio.Event().wait()
        return await _drip(request, response) if response.headers.get("X-Slow") else response

    def _response(self, request: web.BaseRequest) -> web.Response:
        if refusal := self._refusal(request, "pull"):
            return refusal
        if request.path == "/token":
            return self._give_token(request)
        repository, _, rest = request.path.removeprefix("/v2/").rpartition("/tags/list")
        if not rest and repository:
            return self._list(request, repository)
        for kind in ("manifests", "blobs"):
            repository, found, reference = request.path.removeprefix("/v2/").partition(f"/{kind}/")
            if found:
                return self._manifest(request, repository, reference) if kind == "manifests" else self._blob(reference)
        return web.Response(status=404)

    def _refusal(self, request: web.BaseRequest, actions: str) -> web.Response | None:
        """The answer that a test has put in place, or the question for a login."""
        if answers := self.answers.get(request.path):
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            return web.Response(status=answer.status, headers=answer.headers, body=answer.body)
        if not self.asks_for or request.path == "/token" or self._is_logged_in(request, actions):
            return None
        realm = f'realm="{self.url}/token",service="here",scope="repository:x:{actions}"'
        asked = f"Bearer {realm}" if self.asks_for == "Bearer" else 'Basic realm="here"'
        return web.Response(status=401, headers={"WWW-Authenticate": asked})

    def _take(self, request: web.BaseRequest, body: bytes) -> web.Response:
        """Begin an upload, or take a blob or a manifest, whose blobs must be there."""
        if refusal := self._refusal(request, "pull,push"):
            return refusal
        repository, found, tag = request.path.removeprefix("/v2/").partition("/manifests/")
        if request.method == "POST":
            return web.Response(status=202, headers={"Location": f"{request.path}1?state=a%2Bb"})
        if not found:
            digest = request.query.get("digest", "")
            if (request.query.get("state"), sha256(body)) != ("a+b", digest):
                return web.Response(status=400)
            self.blobs[digest] = body
            self.pushed.append(f"{request.path.partition('/blobs/')[0]}/{digest}")
            return web.Response(status=201)
        document = json.loads(body)
        if not {entry["digest"] for entry in (document["config"], *document["layers"])} <= self.blobs.keys():
            return web.Response(status=404)
        self.manifests[sha256(body)] = (request.headers["Content-Type"], body)
        self.tags.setdefault(repository, {})[tag] = sha256(body)
        self.pushed.append(request.path)
        return web.Response(status=201)

    def _give_token(self, request: web.BaseRequest) -> web.Response:
        self.token_requests.append((request.query_string, request.headers.get("Authorization", "")))
        if self.credentials.credentials.by_place and not _is_user(request):
            return web.Response(status=401)
        self.tokens.append(f"token-{len(self.tokens)}-{request.query.get('scope', '')}")
        return web.json_response({"token": self.tokens[-1], "expires_in": 300})

    def _is_logged_in(self, request: web.BaseRequest, actions: str) -> bool:
        if self.asks_for == "Basic":
            return _is_user(request)
        if actions != "pull" and not request.headers.get("Authorization", "").endswith(actions):
            return False
        return bool(self.tokens) and request.headers.get("Authorization") == f"Bearer {self.tokens[-1]}"

    def _manifest(self, request: web.BaseRequest, repository: str, reference: str) -> web.Response:
        digest = self.tags.get(repository, {}).get(reference, reference)
        if digest not in self.manifests:
            return web.Response(status=404)
        if request.headers.get("If-None-Match") == f'"{digest}"':
            return web.Response(status=304)
        media_type, data = self.manifests[digest]
        return web.Response(body=data, headers={"Content-Type": media_type, "ETag": f'"{digest}"'})

    def _blob(self, digest: str) -> web.Response:
        return web.Response(body=self.blobs[digest]) if digest in self.blobs else web.Response(status=404)

    def _list(self, request: web.BaseRequest, repository: str) -> web.Response:
        """Two tags a page."""
        tags = sorted(self.tags.get(repository, {}))
        begin = tags.index(request.query["last"]) + 1 if "last" in request.query else 0
        page = tags[begin : begin + 2]
        link = {"Link": f'</v2/{repository}/tags/list?last={page[-1]}&n=2>; rel="next"'} if tags[begin + 2 :] else {}
        return web.json_response({"name": repository, "tags": page}, headers=link)


async def _drip(request: web.BaseRequest, response: web.Response) -> web.StreamResponse:
    """Send the body a byte at a time."""
    slow = web.StreamResponse()
    await slow.prepare(request)
    for byte in cast("bytes", response.body):
        await slow.write(bytes([byte]))
        await asyncio.sleep(0.03)
    return slow


def _is_user(request: web.BaseRequest) -> bool:
    given = request.headers.get("Authorization", "").partition("Basic ")[2]
    return base64.b64decode(given).decode() == f"{USER.user}:{USER.password}"


@asynccontextmanager
async def registry_server() -> AsyncIterator[RegistryServer]:
    """One on a free port of loopback, without TLS."""
    async with HttpsReader() as reader:
        registry = RegistryServer(reader)
        async with serve(registry.handle) as registry.url:
            yield registry
