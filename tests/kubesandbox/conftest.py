"""A sandbox in the test's own event loop, and a client for it; a real API server's answers to compare with."""

import io
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from kubesandbox.sandbox import Options, Sandbox, serving
from tests.controlplane.cluster import Cluster
from tests.fakes.transports import all_closed
from tests.kubesandbox.oracle import Oracle, oracle_of
from tests.kubesandbox.recording import Recording

ROOM = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `body` is parsed where it is JSON."""

    status: int
    body: Any
    headers: Any


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests to one sandbox."""

    sandbox: Sandbox
    session: aiohttp.ClientSession

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request; `body` is JSON unless it is bytes."""
        data = None if body is None else io.BytesIO(body if isinstance(body, bytes) else orjson.dumps(body))
        told = {"Content-Type": "application/json"} | {name.replace("_", "-"): text for name, text in headers.items()}
        async with self.session.request(method, self.sandbox.url + path, data=data, headers=told) as response:
            text = await response.read()
            is_json = response.headers.get("Content-Type", "").startswith("application/json")
            return Answer(response.status, orjson.loads(text) if is_json and text else text, response.headers)

    async def create(self, path: str, body: Any) -> Any:
        """POST, which must be taken."""
        answer = await self.send("POST", path, body)
        assert answer.status == 201, answer.body
        return answer.body


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """An empty sandbox and a client for it."""
    async with serving(Options()) as sandbox, aiohttp.ClientSession() as session:
        yield Client(sandbox, session)
    await all_closed()


@pytest.fixture(scope="module", params=["recorded", pytest.param("live", marks=pytest.mark.cluster)])
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    """What a real API server answers to the questions of a file: recorded, and on a live run asked again.

    `ONLY_LIVE` is for tests whose questions are new ones each time.
    """
    file = request.path.relative_to(ROOM).with_suffix("")
    recording = Recording(".".join(file.parts))
    if request.param == "recorded":
        yield Oracle(recording)
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    with oracle_of(cluster, recording) as oracle:
        yield oracle
    if request.param == "live":
        recording.finish(request.config.getoption("live"))
