"""A webhook as a user would run one: HTTPS on this machine, remembers its reviews, gives the answers that a test sets.

It knows nothing of hookrunner. Both servers reach it at 127.0.0.1.
"""

import base64
import ipaddress
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer that is no review: as it goes over the wire, after some seconds."""

    body: bytes = b""
    status: int = 200
    seconds: float = 0
    headers: Mapping[str, str] = field(default_factory=dict)


Decides = Callable[[JSON], JSON | Raw]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: its path with the query, its headers, its body."""

    path: str
    headers: dict[str, str]
    review: JSON

    @property
    def request(self) -> JSON:
        said: JSON = self.review["request"]
        return said


@dataclass(slots=True)
class Webhook:
    """A running one. `answers` has what it says at a path; where it says nothing it allows, and changes nothing.

    It hangs up on who asks more than `requests_per_connection` times.
    """

    url: str
    authority: bytes
    answers: dict[str, Decides | Raw] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    requests_per_connection: int = 1_000_000

    def client(self, path: str, **changed: Any) -> JSON:
        """A `clientConfig` that leads to a path."""
        return {"url": self.url + path, "caBundle": base64.b64encode(self.authority).decode()} | changed

    def at(self, path: str) -> list[JSON]:
        """What it was asked there: the requests of the reviews."""
        return [one.request for one in self.asked if one.path.partition("?")[0] == path]


def allowed(**more: Any) -> Decides:
    """Allow, and say more."""
    return lambda review: reviewed(review, {"allowed": True} | more)


def denied(**status: Any) -> Decides:
    """Deny with a status."""
    return lambda review: reviewed(review, {"allowed": False} | ({"status": status} if status else {}))


def patching(*operations: JSON) -> Decides:
    """Allow with a JSON patch."""
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return allowed(patch=patch, patchType="JSONPatch")


def reviewed(review: JSON, response: JSON) -> JSON:
    """The review with its response."""
    said = {"uid": review["request"]["uid"]} | response
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": said}


class Handler(BaseHTTPRequestHandler):
    """Answers one connection with the answer of its server's webhook."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    answered = 0
    server: "Server"

    def do_POST(self) -> None:
        webhook = self.server.webhook
        if self.answered == webhook.requests_per_connection:
            self.close_connection = True
            return
        self.answered += 1
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        webhook.asked.append(Asked(self.path, dict(self.headers), body))
        answer = webhook.answers.get(self.path.partition("?")[0], allowed())
        said = answer if isinstance(answer, Raw) else answer(body)
        self._send(said if isinstance(said, Raw) else Raw(json.dumps(said).encode()))

    def _send(self, raw: Raw) -> None:
        time.sleep(raw.seconds)
        self.send_response(raw.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw.body)))
        for name, text in raw.headers.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(raw.body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Speaks TLS with a certificate of its own."""

    daemon_threads = True

    def __init__(self, webhook: Webhook, scratch: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.webhook = webhook
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        files = (scratch / "webhook.crt", scratch / "webhook.key")
        for file, text in zip(files, _signed(), strict=True):
            file.write_bytes(text)
        context.load_cert_chain(*files)
        # The handshake is the thread's that answers: a client that breaks it off must not end the server.
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are what some cases are about."""


@contextmanager
def serving(scratch: Path) -> Iterator[Webhook]:
    """A webhook on a free port."""
    webhook = Webhook("", authority())
    server = Server(webhook, scratch)
    webhook.url = f"https://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield webhook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@cache
def _root() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    return _certificate("contract authority", key, "contract authority", key, ca=True), key


def authority() -> bytes:
    """The certificate that clients are to trust."""
    return _root()[0].public_bytes(serialization.Encoding.PEM)


def stranger() -> bytes:
    """The certificate of an authority that has signed nothing here."""
    key = ec.generate_private_key(ec.SECP256R1())
    made = _certificate("stranger", key, "stranger", key, ca=True)
    return made.public_bytes(serialization.Encoding.PEM)


@cache
def _signed() -> tuple[bytes, bytes]:
    """The server's certificate and its key."""
    _, authority_key = _root()
    key = ec.generate_private_key(ec.SECP256R1())
    made = _certificate("webhook", key, "contract authority", authority_key, ca=False)
    plain = serialization.NoEncryption()
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    return made.public_bytes(serialization.Encoding.PEM), text


def _certificate(
    name: str, key: ec.EllipticCurvePrivateKey, by: str, signer: ec.EllipticCurvePrivateKey, *, ca: bool
) -> x509.Certificate:
    now = datetime.now(UTC)
    place = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(_named(by))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    made = builder if ca else builder.add_extension(place, critical=False)
    return made.sign(signer, hashes.SHA256())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
