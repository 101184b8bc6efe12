"""One plain HTTP request at a time, for what a test wants to see of a server without any client library's help.

Stories ask an API server many times a second. A new connection with TLS costs both sides three milliseconds each, more
than most answers, so connections are kept.
"""

import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import urllib3

from tests.controlplane.kubeconfig import Access


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answered; `body` is None when it is not JSON."""

    status: int
    body: Any


def request(access: Access, method: str, path: str, body: object = None, *, timeout: float = 60) -> Reply:
    """Send a JSON request to the API server. Raises `OSError` when there is no answer at all."""
    headers = urllib3.HTTPHeaderDict({"Authorization": f"Bearer {access.token}", "Content-Type": content_type(method)})
    for index, name in enumerate(access.acting_as):
        headers.add("Impersonate-Group" if index else "Impersonate-User", name)
    try:
        answer = _pool(access.url, access.ca).urlopen(
            method, path, encoded(body), headers, retries=False, redirect=False, timeout=timeout
        )
    except urllib3.exceptions.HTTPError as error:
        raise OSError(f"{method} {access.url}{path}: {error}") from error
    return Reply(answer.status, decoded(answer.data))


@cache
def _pool(url: str, ca: Path) -> urllib3.HTTPConnectionPool:
    """Connections to one API server; those that it has closed meanwhile are opened anew."""
    return urllib3.connection_from_url(url, maxsize=4, ca_certs=str(ca))


def post(url: str, body: object) -> Reply:
    """Post JSON to a server without TLS, such as etcd's gateway."""
    return send(urllib.request.Request(url, encoded(body), method="POST"), None, 60)


def send(prepared: urllib.request.Request, trust: ssl.SSLContext | None, timeout: float) -> Reply:
    try:
        with urllib.request.urlopen(prepared, context=trust, timeout=timeout) as response:
            return Reply(response.status, decoded(response.read()))
    except urllib.error.HTTPError as refused:
        with refused:
            return Reply(refused.code, decoded(refused.read()))


def content_type(method: str) -> str:
    return "application/merge-patch+json" if method == "PATCH" else "application/json"


def encoded(body: object) -> bytes | None:
    return None if body is None else json.dumps(body).encode()


def decoded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None
