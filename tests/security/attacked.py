"""A running program that is attacked: on a sandbox, with ports that any client may reach."""

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from tests.controlplane.processes import free_port
from tests.flows.operator import Operator, oops
from tests.flows.scripts import hook

RULE = {"apiGroups": ["attacked.example.com"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
VALIDATING = {"kubernetesValidating": [{"name": "a.attacked.example.com", "rules": [RULE]}]}
ALLOW = 'echo \'{"allowed": true}\' > "$VALIDATING_RESPONSE_PATH"\n'
HEADERS = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Attacked:
    """The program, and what reaches its webhook port."""

    program: Operator
    session: aiohttp.ClientSession
    url: str

    async def review(self, body: bytes, path: str = "/hooks/a-attacked-example-com?timeout=30s") -> tuple[int, Any]:
        """Status and text of the answer; status 0 if the connection was cut."""
        try:
            async with self.session.post(self.url + path, data=io.BytesIO(body), headers=HEADERS) as answer:
                return answer.status, await answer.text()
        except aiohttp.ClientError as error:
            return 0, str(error)

    async def reviews(self, *bodies: bytes) -> list[int]:
        """The statuses of reviews that come all at once."""
        return [status for status, _ in await asyncio.gather(*map(self.review, bodies))]

    def memory(self, field: str = "VmRSS") -> int:
        """MiB that the program has at the moment; `VmHWM` is the most that it had."""
        lines = Path(f"/proc/{self.program.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) // 1024


@asynccontextmanager
async def attacked(
    directory: Path,
    scripts: Mapping[str, str] | None = None,
    *flags: str,
    environ: Mapping[str, str] | None = None,
    executed: bool = False,
) -> AsyncIterator[Attacked]:
    """It has to be ready before the attack, and to be well after it: no errors of its own, and a good end."""
    port = free_port()
    place = f"--sandbox-kubeconfig={directory / 'kubeconfig'}"
    flags = ("--sandbox", place, f"--webhook-port={port}", *flags)
    one = Operator(directory, directory / "none", flags, environ=environ or {}, executed=executed)
    one.write_hooks(scripts or {"h.sh": hook(VALIDATING, ALLOW)})
    one.start()
    connector = aiohttp.TCPConnector(ssl=False, limit=0)
    try:
        await one.ready()
        async with aiohttp.ClientSession(connector=connector) as session:
            yield Attacked(one, session, f"https://127.0.0.1:{port}")
        assert await one.stop() == 0
        assert oops(one.logs()) == []
    finally:
        one.kill()


def admission(value: bytes) -> bytes:
    """A review about an object that has this."""
    review = orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u"}})
    return review[:-2] + b',"object":{"spec":%b}}}' % value
