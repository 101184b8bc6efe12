"""A sandbox in the test's own event loop, and a client for it."""

import io
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
import pytest

from kubesandbox.sandbox import Options, Sandbox, serving
from tests.fakes.transports import all_closed


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
