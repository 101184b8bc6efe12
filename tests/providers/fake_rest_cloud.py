"""The REST API that `providers/rest-example` expects, with two servers, and answers that a test chooses instead."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "correct-horse-battery-staple"


@dataclass
class RestCloud:
    """`answers`: status, body and headers of a request in place of the real one, by `METHOD /path`."""

    url: str = ""
    servers: list[Any] = field(default_factory=lambda: [_server(1), _server(2, status="stopped")])
    balancers: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, tuple[int, str, dict[str, str]]] = field(default_factory=dict)

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        name = path.rpartition("/")[2]
        match method, path.partition("?")[0].split("/")[1:]:
            case "GET", ["servers"]:
                page = int(path.partition("page=")[2])
                more = {"next": page + 1} if page < len(self.servers) else {}
                return 200, {"servers": self.servers[page - 1 : page], **more}
            case "GET", ["load-balancers"]:
                return 200, {"loadBalancers": list(self.balancers.values())}
            case "PUT", _:
                self.balancers.setdefault(name, {"name": name, "ip": f"192.0.2.{len(self.balancers) + 1}"}).update(body)
            case "DELETE", _ if name in self.balancers:
                return 200, self.balancers.pop(name)
        return (200, self.balancers[name]) if name in self.balancers else (404, {})


def _server(number: int, status: str = "running") -> Any:
    place = {"zone": "zone-a", "region": "region-1", "type": "small", "ip": f"10.0.0.{number}"}
    return {"id": f"s-{number}", "name": f"node-{number}", "status": status, **place}


@contextmanager
def rest_cloud() -> Iterator[RestCloud]:
    """A cloud at a port of its own."""
    cloud = RestCloud()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"null")
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                return self._send(401, "{}", {})
            if chosen := cloud.answers.get(f"{self.command} {self.path}"):
                return self._send(*chosen)
            status, document = cloud.answer(self.command, self.path, body)
            return self._send(status, json.dumps(document), {})

        do_PUT = do_DELETE = do_GET

        def _send(self, status: int, text: str, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        cloud.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield cloud
        finally:
            server.shutdown()
            thread.join()
