"""One Lease on an API server of tests, in virtual time: slow, cut off, or refusing, as a test says."""

import asyncio
import copy
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from hookrunner.controllers.lease import LeaseLock
from hookrunner.errors import AlreadyExists, Conflict, KubeError, NotFound, Unreachable
from hookrunner.kube.client import ApiCall, Client

JSON = Any
Trouble = Callable[[], Awaitable[None]]


def lock(identity: str) -> LeaseLock:
    return LeaseLock("kube-system", "cloud-controller-manager", identity)


async def no_trouble() -> None:
    """The network is fine."""


@dataclass(eq=False)
class LeaseServer:
    """`lease` is what is stored, None for nothing. `verbs` are the requests that have arrived."""

    lease: JSON = None
    verbs: list[str] = field(default_factory=list)
    written: list[JSON] = field(default_factory=list)
    version: int = 0

    def client(self, trouble: Trouble = no_trouble) -> Client:
        """A client with a network of its own: `trouble` is awaited on each way, and may wait or raise."""
        return cast(Client, _Connection(self, trouble))

    def put(self, holder: str | None, seconds: int = 15, **spec: Any) -> None:
        """Another manager's write, at a time of its own: a record that is equal to an old one was never renewed."""
        record = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "leaseTransitions": 4}
        record |= {"renewTime": f"2026-01-01T00:00:00.{self.version:06}Z"} | spec
        metadata = {"namespace": "kube-system", "name": "cloud-controller-manager"}
        self._store({"metadata": metadata, "spec": record})

    @property
    def holder(self) -> str:
        return str(self.lease["spec"]["holderIdentity"])

    def handle(self, method: str, body: JSON) -> JSON:
        self.verbs.append(method)
        if method == "GET" and self.lease is None:
            raise NotFound(404, "NotFound", "leases not found")
        if method == "POST" and self.lease is not None:
            raise AlreadyExists(409, "AlreadyExists", "leases already exists")
        if method == "PUT" and self.lease is None:
            raise NotFound(404, "NotFound", "leases not found")
        if method == "PUT" and body["metadata"]["resourceVersion"] != str(self.version):
            raise Conflict(409, "Conflict", "the object has been modified")
        if method != "GET":
            self._store(body)
        return copy.deepcopy(self.lease)

    def _store(self, document: JSON) -> None:
        self.version += 1
        self.lease = document | {"metadata": document["metadata"] | {"resourceVersion": str(self.version)}}
        self.written.append(self.lease["spec"])


@dataclass(eq=False)
class _Connection:
    server: LeaseServer
    trouble: Trouble

    async def get(self, path: str, params: Any = None, accept: str = "", timeout: float = 60.0) -> JSON:
        return await self._exchange("GET", None, timeout)

    async def send(self, call: ApiCall) -> bytes:
        return orjson.dumps(await self._exchange(call.method, call.body, call.timeout))

    async def _exchange(self, method: str, body: JSON, timeout: float) -> JSON:
        """A request that the client gives up still arrives: the network may hold it for any time."""
        arriving = asyncio.ensure_future(self._arrive(method, body))
        try:
            async with asyncio.timeout(timeout):
                answer = await asyncio.shield(arriving)
                await self.trouble()
        except TimeoutError:
            arriving.add_done_callback(_ignore)
            raise Unreachable(f"{method}: no answer within {timeout:g} s") from None
        except asyncio.CancelledError:
            arriving.add_done_callback(_ignore)
            raise
        return answer

    async def _arrive(self, method: str, body: JSON) -> JSON:
        await self.trouble()
        return self.server.handle(method, body)


def _ignore(arrived: "asyncio.Future[JSON]") -> None:
    if not arrived.cancelled() and isinstance(error := arrived.exception(), BaseException):
        assert isinstance(error, KubeError)
