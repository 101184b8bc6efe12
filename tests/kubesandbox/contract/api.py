"""An API server as a contract case sees it: raw requests, watches, kubectl, and namespaces and kinds of its own.

Knows HTTP and nothing of hookrunner, so that the real control plane and the sandbox are asked in the same way.
"""

import base64
import contextlib
import http.client
import itertools
import json
import os
import secrets
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import yaml

from tests.controlplane.tools import find_tool
from tests.kubesandbox.contract.objects import CustomKind, at, crd

DEADLINE = 60.0
"""Seconds that a case waits for something that must come."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answered; `body` is decoded JSON, or else text."""

    status: int
    body: Any
    headers: http.client.HTTPMessage = field(repr=False)
    warnings: tuple[str, ...] = ()


class Watch:
    """A running watch: an iterator of its events. Each must come before the deadline; the stream's end ends it."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> dict[str, Any]:
        line = self._response.readline()
        if not line:
            raise StopIteration
        event: dict[str, Any] = json.loads(line)
        return event

    def take(self, count: int) -> list[tuple[str, str]]:
        """The next events as (type, name of the object)."""
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in itertools.islice(self, count)]

    def close(self) -> None:
        self._response.close()
        self._connection.close()


class Api:
    """One API server. `forget` is how it is made to lose its history (see `tests/controlplane/README.md`)."""

    def __init__(self, name: str, kubeconfig: Path, scratch: Path, forget: Callable[[], object]) -> None:
        self.name = name
        self.kubeconfig = kubeconfig
        self.forget = forget
        self._scratch = scratch
        config = yaml.safe_load(kubeconfig.read_text())
        self._cluster = config["clusters"][0]["cluster"]
        self._token: str = config["users"][0]["user"].get("token", "") if config.get("users") else ""
        self._address = urlsplit(self._cluster["server"])
        self._connection = self._connect()
        self._made: list[str] = []
        self._kinds: dict[str, CustomKind] = {}

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Reply:
        """Send one request and return the answer, whatever it is. `body` is JSON, or bytes to send as they are."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = self._headers(content_type) | dict(headers or {})
        reply = self._send(method, path, data, sent)
        while reply.status == http.HTTPStatus.TOO_MANY_REQUESTS and "storage is (re)initializing" in str(reply.body):
            time.sleep(0.02)  # a kind's definition has just changed
            reply = self._send(method, path, data, sent)
        return reply

    def get(self, path: str) -> Any:
        """What is at the path, which must be there."""
        return self._succeed("GET", path)

    def post(self, path: str, body: object) -> Any:
        """The object as created, which must succeed."""
        return self._succeed("POST", path, body)

    def put(self, path: str, body: object) -> Any:
        """The object as replaced, which must succeed."""
        return self._succeed("PUT", path, body)

    def patch(self, path: str, body: object, kind: str = "merge-patch") -> Any:
        """The object as patched (`kind` is `json-patch`, `merge-patch` or `strategic-merge-patch`)."""
        return self._succeed("PATCH", path, body, f"application/{kind}+json")

    def apply(self, path: str, body: object, manager: str = "tester", *, force: bool = False) -> Reply:
        """Server-side apply."""
        asked = f"{path}?fieldManager={manager}" + ("&force=true" if force else "")
        return self.request("PATCH", asked, body, content_type="application/apply-patch+yaml")

    def delete(self, path: str, body: object = None) -> Any:
        """What the server answers to the deletion, which must succeed."""
        return self._succeed("DELETE", path, body)

    @contextlib.contextmanager
    def watch(self, path: str, accept: str = "application/json") -> Iterator[Watch]:
        """Watch a path that says `watch=1` itself; the server must agree."""
        connection = self._connect()
        connection.request("GET", path, headers=self._headers("application/json") | {"Accept": accept})
        response = connection.getresponse()
        watch = Watch(connection, response)
        try:
            if response.status != http.HTTPStatus.OK:
                raise AssertionError(f"GET {path} → {response.status}: {response.read().decode()}")
            yield watch
        finally:
            watch.close()

    def namespace(self) -> str:
        """A fresh namespace, deleted with what is in it when the case's file is done."""
        name = f"contract-{secrets.token_hex(4)}"
        self.post(at("namespaces"), {"metadata": {"name": name}})
        self._made.append(at("namespaces", name=name))
        return name

    def kind(self, plural: str = "things", **spec: Any) -> CustomKind:
        """A kind as `crd` makes it, shared by the cases of a file that want the same one."""
        kind = self.define(plural, **spec)
        self._until_served(kind, spec)
        return kind

    def define(self, plural: str = "things", **spec: Any) -> CustomKind:
        """The kind that `kind` returns, perhaps not yet served.

        In the first two seconds of a kind's life the real control plane holds back who wants to create an object. So
        define in time what will be needed.
        """
        key = json.dumps([plural, spec])
        if key not in self._kinds:
            self._kinds[key] = self._defined(plural, spec)
        return self._kinds[key]

    def crd(self, plural: str = "things", **spec: Any) -> CustomKind:
        """A new kind in a group of its own, served already; `spec` as `objects.crd` says."""
        kind = self._defined(plural, spec)
        self._until_served(kind, spec)
        return kind

    def clean(self) -> None:
        """Ask for the deletion of all namespaces and kinds that were made here."""
        self._kinds.clear()
        while self._made:
            self.request("DELETE", self._made.pop())

    def close(self) -> None:
        """Clean and hang up."""
        self.clean()
        self._connection.close()

    def kubectl(self, *args: str, input: str = "", env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        """Run kubectl and return its exit code, standard output and standard error."""
        return self.shell([str(find_tool("kubectl")), *args], input, env)

    def shell(self, command: list[str], input: str = "", env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        """Run a command that finds this server's kubeconfig, and kubectl, in its environment."""
        tools = f"{find_tool('kubectl').parent}:{os.environ['PATH']}"
        own = {"KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": str(self._scratch / "kubectl"), "PATH": tools}
        own["GOGC"] = "off"  # a fifth of a short kubectl's CPU
        done = subprocess.run(
            command, input=input, env={**os.environ, **own, **(env or {})}, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout, done.stderr

    def _defined(self, plural: str, spec: dict[str, Any]) -> CustomKind:
        kind = CustomKind(f"g{secrets.token_hex(4)}.example.com", plural, plural.title().removesuffix("s"))
        self.post(at("customresourcedefinitions"), crd(kind.group, plural, **spec))
        self._made.append(at("customresourcedefinitions", name=kind.name))
        return kind

    def _until_served(self, kind: CustomKind, spec: dict[str, Any]) -> None:
        for version in spec.get("versions", [{"name": "v1"}]):
            if version.get("served", True):
                self._until_found(kind.path(version=version["name"]))  # asked as cases do: each way has its own cache

    def _until_found(self, path: str) -> None:
        until(lambda: self.request("GET", path).status == http.HTTPStatus.OK, path)

    def _succeed(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Any:
        reply = self.request(method, path, body, content_type=content_type)
        if not http.HTTPStatus.OK <= reply.status < http.HTTPStatus.MULTIPLE_CHOICES:
            raise AssertionError(f"{method} {path} → {reply.status}: {reply.body}")
        return reply.body

    def _send(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> Reply:
        try:
            return self._exchanged(method, path, data, headers)
        except (http.client.HTTPException, OSError):
            # A kept connection may have been closed by the server meanwhile.
            self._connection.close()
            self._connection = self._connect()
            return self._exchanged(method, path, data, headers)

    def _exchanged(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> Reply:
        self._connection.request(method, path, data, headers)
        response = self._connection.getresponse()
        raw = response.read()
        try:
            body = json.loads(raw)
        except ValueError:
            body = raw.decode(errors="replace")
        return Reply(response.status, body, response.headers, tuple(response.headers.get_all("Warning", [])))

    def _headers(self, content_type: str) -> dict[str, str]:
        headers = {"User-Agent": "contract/1", "Accept": "application/json", "Content-Type": content_type}
        return headers | ({"Authorization": f"Bearer {self._token}"} if self._token else {})

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._address.hostname or "", self._address.port
        if self._address.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=DEADLINE)
        file, data = (self._cluster.get(f"certificate-authority{key}") for key in ("", "-data"))
        trust = ssl.create_default_context(cafile=file, cadata=base64.b64decode(data).decode() if data else None)
        return http.client.HTTPSConnection(host, port, timeout=DEADLINE, context=trust)


def until(reached: Callable[[], Any], what: str = "") -> Any:
    """Ask again and again until the answer is true, and return it. Fails after the deadline."""
    deadline = time.monotonic() + DEADLINE
    while not (answer := reached()):
        assert time.monotonic() < deadline, f"it did not come true in {DEADLINE} s {what}"
        time.sleep(0.02)  # what another process does can only be asked for
    return answer
