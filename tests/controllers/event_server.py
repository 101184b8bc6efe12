"""An API server for Events: it remembers what it is sent, may refuse, and may be slow."""

import asyncio
from typing import Any, cast

import orjson

from hookrunner.errors import KubeError
from hookrunner.kube.client import ApiCall, Client


class EventServer:
    """`calls` are the requests, refused with `error` while there is one; each takes so many seconds."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.calls: list[ApiCall] = []
        self.error: KubeError | None = None
        self.seconds = seconds

    async def send(self, call: ApiCall) -> bytes:
        await asyncio.sleep(self.seconds)
        self.calls.append(call)
        if self.error:
            raise self.error
        return orjson.dumps(call.body)

    @property
    def client(self) -> Client:
        return cast(Client, self)

    @property
    def bodies(self) -> list[Any]:
        return [call.body for call in self.calls]

    @property
    def methods(self) -> list[str]:
        return [call.method for call in self.calls]
