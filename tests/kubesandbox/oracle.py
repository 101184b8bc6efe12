"""Questions to a real API server, and its recorded answers: the same questions, with a cluster or without."""

import json
import secrets
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPSConnection, RemoteDisconnected
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tests.controlplane.cluster import Cluster
from tests.kubesandbox.recording import Recording, digest

JSON = "application/json"
NAMESPACE = "oracle"
DEADLINE = 60.0
"""Seconds that the server has for what takes it a moment, such as serving a new kind."""


ONLY_LIVE = pytest.mark.parametrize(
    "oracle", [pytest.param("random", marks=pytest.mark.cluster)], indirect=True, scope="module"
)
"""Marks a test whose questions are other ones each time: it is never answered by the recording."""


class Panicked(Exception):
    """The API server dropped the connection instead of answering, as it does when a patch library of its own panics."""


class Server:
    """A real API server, asked many small questions over one connection."""

    def __init__(self, cluster: Cluster) -> None:
        address = urlsplit(cluster.url)
        trust = ssl.create_default_context(cafile=str(cluster.ca))
        self._connection = HTTPSConnection(address.hostname or "", address.port, timeout=60, context=trust)
        self._authorization = f"Bearer {cluster.token}"

    def ask(self, method: str, where: str, text: bytes | None, headers: dict[str, str]) -> tuple[int, Any]:
        """The code and the body of the answer; a body that is no JSON as text."""
        headers = {"Authorization": self._authorization} | headers
        try:
            return self._answer(method, where, text, headers)
        except (RemoteDisconnected, OSError):
            self._connection.close()  # perhaps it was idle for too long: once more over a new one
        try:
            return self._answer(method, where, text, headers)
        except RemoteDisconnected:
            self._connection.close()
            raise Panicked(f"{method} {where}: {text!r}") from None

    def _answer(self, method: str, where: str, text: bytes | None, headers: dict[str, str]) -> tuple[int, Any]:
        while True:
            self._connection.request(method, where, text, headers)
            answer = self._connection.getresponse()
            said = answer.read()
            # Else the definition of a kind has just changed.
            if not (answer.status == HTTPStatus.TOO_MANY_REQUESTS and b"storage is (re)initializing" in said):
                return answer.status, _decoded(said)
            time.sleep(0.02)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def _decoded(said: bytes) -> Any:
    try:
        return json.loads(said)
    except ValueError:
        return said.decode(errors="replace")


@dataclass(slots=True)
class Oracle:
    """What the API server answers: code and body. Without a server it is what the recording has.

    A question is known by its request, or by `known_as` in place of its body: where the body has what a server gives
    differently each time, or where one request has several answers, because of what was written before. Of several
    answers the last one is kept: that of a question which is asked until something has come true.
    Names that must be new on a server come from `unique`; in the recording they are always the same.
    """

    recording: Recording
    server: Server | None = None
    namespace: str = NAMESPACE
    _names: dict[str, str] = field(default_factory=dict)

    def unique(self, *about: object, prefix: str = "x") -> str:
        """A name that no other question has, unless it is about the same."""
        recorded = f"{prefix}{digest(*about)}"
        if self.server is None:
            return recorded
        name = f"{recorded}{secrets.token_hex(4)}"
        self._names[name] = recorded
        return name

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = JSON,
        accept: str = JSON,
        known_as: object = None,
        **query: str,
    ) -> Any:
        """The code and the body of an answer. `{ns}` in the path is the namespace."""
        where = path.format(ns=f"namespaces/{self.namespace}") + (f"?{urlencode(query)}" if query else "")
        text = None if body is None and method == "GET" else json.dumps(body, ensure_ascii=False)
        about = self._recorded((text or "") if known_as is None else json.dumps(known_as, sort_keys=True, default=str))
        question = f"{method} {self._recorded(where)} {digest(about, content_type, accept)}"
        if self.server is None:
            return tuple(self.recording.answer(question))
        headers = {"Content-Type": content_type, "Accept": accept}
        answer = self.server.ask(method, where, None if text is None else text.encode(), headers)
        self.recording.note(question, json.loads(self._recorded(json.dumps(answer, ensure_ascii=False))))
        return answer

    def read(self, path: str, part: Callable[[Any], Any], accept: str = JSON) -> Any:
        """The part of a document that the question is about: other tests may change the rest."""
        question = f"GET {path} {digest(accept)}"
        if self.server is None:
            return self.recording.answer(question)
        _, body = self.server.ask("GET", path, None, {"Accept": accept})
        self.recording.note(question, part(body))
        return part(body)

    def remove(self, path: str, *, is_held: bool = False) -> None:
        """Clean up on a real server, which is no question. What `is_held` has finalizers and perhaps a grace period."""
        if self.server is None:
            return
        where = path.format(ns=f"namespaces/{self.namespace}")
        if is_held:
            free = b'{"metadata": {"finalizers": null}}'
            self.server.ask("PATCH", where, free, {"Content-Type": "application/merge-patch+json"})
        grace = b'{"gracePeriodSeconds": 0}' if is_held else b"{}"
        self.server.ask("DELETE", where, grace, {"Content-Type": JSON})

    def now(self, about: object) -> datetime:
        """The time at which the server was asked."""
        if self.server is None:
            return datetime.fromisoformat(self.recording.answer(f"time {digest(about)}"))
        now = datetime.now(UTC)
        self.recording.note(f"time {digest(about)}", now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        return now

    def until(self, ask: Callable[[], Any]) -> Any:
        """What is asked for, once there is something: asked again until then."""
        deadline = time.monotonic() + DEADLINE
        while not (found := ask()):
            assert self.server, "what was recorded does not come true"
            assert time.monotonic() < deadline, f"it did not come true in {DEADLINE} s"
            time.sleep(0.02)
        return found

    def changed(self, path: str, change: Callable[[Any], None]) -> Any:
        """Change what is there; once more if a controller was faster. As it was then."""
        while True:
            obj = self.ask("GET", path, known_as="before")[1]
            change(obj)
            code, body = self.ask("PUT", path, obj, known_as="changed")
            if code != HTTPStatus.CONFLICT:
                assert code == HTTPStatus.OK, body
                return body

    def patch(self, path: str, kind: str, body: object, known_as: object = None) -> Any:
        """The code and the body of what a patch would do; `kind` is `json`, `merge` or `strategic-merge`."""
        kind = f"application/{kind}-patch+json"
        return self.ask("PATCH", path, body, content_type=kind, known_as=known_as, dryRun="All")

    def put(self, path: str, obj: object, *, dry: bool = False, known_as: object = None) -> Any:
        """The code and the body of a write."""
        return self.ask("PUT", path, obj, known_as=known_as, **({"dryRun": "All"} if dry else {}))

    def made(self, path: str, obj: object, known_as: object = None) -> Any:
        """A new object, as the server keeps it."""
        code, body = self.ask("POST", path, obj, known_as=known_as)
        assert code == 201, body
        return body

    def _recorded(self, text: str) -> str:
        """A text with the names that it has in the recording."""
        for name, recorded in self._names.items():
            text = text.replace(name, recorded).replace(name.capitalize(), recorded.capitalize())
        return text.replace(self.namespace, NAMESPACE)


@contextmanager
def oracle_of(cluster: Cluster, recording: Recording) -> Iterator[Oracle]:
    """An oracle with a namespace on a real server that is deleted at the end."""
    name = f"{NAMESPACE}-{secrets.token_hex(4)}"
    cluster.create("/api/v1/namespaces", {"metadata": {"name": name}})
    server = Server(cluster)
    try:
        yield Oracle(recording, server, name)
    finally:
        server.close()
        cluster.request("DELETE", f"/api/v1/namespaces/{name}")
