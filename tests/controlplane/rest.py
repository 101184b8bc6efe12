"""One plain HTTP request at a time, for what a test wants to see of a server without any client library's help."""

import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from tests.controlplane.kubeconfig import Access


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answered; `body` is None when it is not JSON."""

    status: int
    body: Any


def request(access: Access, method: str, path: str, body: object = None, *, timeout: float = 60) -> Reply:
    """Send a JSON request to the API server. Raises `OSError` when there is no answer at all."""
    headers = {"Authorization": f"Bearer {access.token}", "Content-Type": content_type(method)}
    prepared = urllib.request.Request(access.url + path, encoded(body), headers, method=method)
    return send(prepared, ssl.create_default_context(cafile=str(access.ca)), timeout)


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
