"""The command line run in this process, and a debug endpoint that remembers what it was asked."""

import socketserver
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from hookrunner.cli.main import run


@dataclass
class Endpoint:
    """`answers` and `refusals` (status and text) by path with query; everything else is 404. `asked` are method, path
    and body."""

    socket: Path
    answers: dict[str, str] = field(default_factory=dict)
    refusals: dict[str, tuple[int, str]] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    fake = Endpoint(tmp_path / "debug.socket")

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
            fake.asked.append((self.command, self.path, body))
            text = fake.answers.get(self.path)
            status, refusal = fake.refusals.get(self.path, (404, "404 page not found\n"))
            self.send_response(status if text is None else 200)
            self.end_headers()
            self.wfile.write((text if text is not None else refusal).encode())

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with socketserver.ThreadingUnixStreamServer(str(fake.socket), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield fake
        server.shutdown()
        thread.join()


@dataclass(frozen=True)
class Ended:
    """What a command line came to."""

    code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], forking: None) -> Command:
    """Run a command line in this process, and fork its lookups of the cluster and render workers from it."""

    def call(*arguments: str, program: str = "hookrunner") -> Ended:
        code = run(list(arguments), program)
        return Ended(code, *capsys.readouterr())

    return call
