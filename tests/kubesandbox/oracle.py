"""A real API server, asked many small questions over one connection."""

import json
import secrets
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPSConnection, RemoteDisconnected
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.controlplane.cluster import Cluster

JSON = "application/json"


class Panicked(Exception):
    """The API server dropped the connection instead of answering, as it does when a patch library of its own panics."""


class Oracle:
    """What the API server answers: code and body. Everything happens in a namespace of its own."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        address = urlsplit(cluster.url)
        trust = ssl.create_default_context(cafile=str(cluster.ca))
        self._connection = HTTPSConnection(address.hostname or "", address.port, timeout=60, context=trust)
        self._authorization = f"Bearer {cluster.token}"
        self.namespace = namespace

    def ask(self, method: str, path: str, body: object = None, *, content_type: str = JSON, **query: str) -> Any:
        """The code and the body of an answer. `{ns}` in the path is the namespace."""
        headers = {"Authorization": self._authorization, "Content-Type": content_type}
        where = path.format(ns=f"namespaces/{self.namespace}") + (f"?{urlencode(query)}" if query else "")
        text = None if body is None and method == "GET" else json.dumps(body, ensure_ascii=False).encode()
        try:
            return self._answer(method, where, text, headers)
        except (RemoteDisconnected, OSError):
            self._connection.close()  # perhaps it was idle for too long: once more over a new one
        try:
            return self._answer(method, where, text, headers)
        except RemoteDisconnected:
            self._connection.close()
            raise Panicked(f"{method} {where}: {body}") from None

    def _answer(self, method: str, where: str, text: bytes | None, headers: dict[str, str]) -> Any:
        while True:
            self._connection.request(method, where, text, headers)
            answer = self._connection.getresponse()
            said = answer.read()
            # Else the definition of a kind has just changed.
            if not (answer.status == HTTPStatus.TOO_MANY_REQUESTS and b"storage is (re)initializing" in said):
                return answer.status, json.loads(said)
            time.sleep(0.02)

    def changed(self, path: str, change: Callable[[Any], None]) -> Any:
        """Change what is there; once more if a controller was faster. As it was then."""
        while True:
            obj = self.ask("GET", path)[1]
            change(obj)
            code, body = self.put(path, obj)
            if code != HTTPStatus.CONFLICT:
                assert code == HTTPStatus.OK, body
                return body

    def patch(self, path: str, kind: str, body: object) -> Any:
        """The code and the body of what a patch would do; `kind` is `json`, `merge` or `strategic-merge`."""
        return self.ask("PATCH", path, body, content_type=f"application/{kind}-patch+json", dryRun="All")

    def put(self, path: str, obj: object, *, dry: bool = False) -> Any:
        """The code and the body of a write."""
        return self.ask("PUT", path, obj, **({"dryRun": "All"} if dry else {}))

    def made(self, path: str, obj: object) -> Any:
        """A new object, as the server keeps it."""
        code, body = self.ask("POST", path, obj)
        assert code == 201, body
        return body

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


@contextmanager
def oracle_of(cluster: Cluster) -> Iterator[Oracle]:
    """An oracle with a namespace that is deleted at the end."""
    name = f"oracle-{secrets.token_hex(4)}"
    cluster.create("/api/v1/namespaces", {"metadata": {"name": name}})
    oracle = Oracle(cluster, name)
    try:
        yield oracle
    finally:
        oracle.close()
        cluster.request("DELETE", f"/api/v1/namespaces/{name}")
