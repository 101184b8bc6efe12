"""The registry of the distribution project as a process on loopback, with or without TLS and a login.

with running_registry(directory, has_tls=True, has_login=True) as registry:
    registry.push("team/coredns", "1.14.6", artifact)
"""

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from urllib.parse import quote

from tests.controlplane.certs import make_server_certificate
from tests.controlplane.processes import Processes, free_port
from tests.oracles.go_programs import go_program
from tests.packages.oci.artifacts import Artifact, sha256
from tests.packages.oci.registry_server import USER
from tests.packages.oci.token_server import ISSUER, SERVICE, TokenServer

GO_MODULE = Path(__file__).parent / "registry"
_PASSWORDS = "me:$2b$05$o7N.iO/17VFzfX0JdQDRoeEMFuaPGMrpmiPVlxa/ckkYq1SsvsGXO\n"
"""The user of `registry_server.py`, as htpasswd writes it."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A running registry. `trust` is None without TLS; `login` is the header with which tests push."""

    url: str
    trust: ssl.SSLContext | None
    login: str

    def push(self, repository: str, tag: str, pushed: Artifact) -> None:
        """Push as a client does: blobs, then manifests, then the tag."""
        for data in pushed.blobs.values():
            self._push_blob(repository, data)
        for digest, data in {**pushed.manifests, tag: pushed.manifest}.items():
            headers = {"Content-Type": json.loads(data)["mediaType"]}
            self.send("PUT", f"/v2/{repository}/manifests/{digest}", data, headers)

    def _push_blob(self, repository: str, data: bytes) -> None:
        upload = self.send("POST", f"/v2/{repository}/blobs/uploads/", b"")
        target = f"{upload}{'&' if '?' in upload else '?'}digest={quote(sha256(data))}"
        self.send("PUT", target, data, {"Content-Type": "application/octet-stream"})

    def send(self, method: str, target: str, data: bytes | None = None, headers: dict[str, str] | None = None) -> str:
        """Send a request; where the answer leads to."""
        url = target if "://" in target else self.url + target
        login = {"Authorization": self.login} if self.login else {}
        request = urllib.request.Request(url, data, {**(headers or {}), **login}, method=method)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self.trust)
        )
        with opener.open(request, timeout=10) as answer:
            return str(answer.headers.get("Location", ""))


@contextmanager
def running_registry(
    directory: Path, has_tls: bool = False, has_login: bool = False, tokens: TokenServer | None = None
) -> Iterator[Distribution]:
    """One with an empty store in the directory. With `tokens` it takes what that server gives, which runs already.
    Raises `BedUnavailable` if it cannot be built."""
    program, port, trust = go_program("registry", GO_MODULE), free_port(), None
    http: dict[str, object] = {"addr": f"127.0.0.1:{port}"}
    if has_tls:
        pair = make_server_certificate(directory, "registry")
        http["tls"] = {"certificate": str(pair.certificate), "key": str(pair.key)}
        trust = ssl.create_default_context(cafile=str(pair.certificate))
    (directory / "htpasswd").write_text(_PASSWORDS)
    auth = {"htpasswd": {"realm": "here", "path": str(directory / "htpasswd")}} if has_login else {}
    login = USER.header if has_login else ""
    if tokens:
        (directory / "keys.json").write_text(json.dumps(tokens.keys))
        trusted = {"realm": f"{tokens.url}/token", "jwks": str(directory / "keys.json")}
        auth, login = {"token": {"service": SERVICE, "issuer": ISSUER, **trusted}}, f"Bearer {tokens.sign()}"
    storage = {"filesystem": {"rootdirectory": str(directory / "store")}}
    config = {"version": "0.1", "log": {"level": "warn"}, "storage": storage, "http": http, "auth": auth}
    (directory / "config.yml").write_text(json.dumps({key: part for key, part in config.items() if part}))
    processes = Processes(directory)
    try:
        processes.start("registry", [str(program), "serve", str(directory / "config.yml")])
        registry = Distribution(f"{'https' if has_tls else 'http'}://127.0.0.1:{port}", trust, login)
        _wait(registry, processes)
        yield registry
    finally:
        processes.stop_all()


def _wait(registry: Distribution, processes: Processes) -> None:
    for _ in range(600):
        try:
            registry.send("GET", "/v2/")
        except urllib.error.HTTPError:
            raise
        except OSError:
            if processes.ended():
                break
            sleep(0.05)
        else:
            return
    raise AssertionError(processes.last_words("registry"))
