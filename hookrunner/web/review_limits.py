"""How much the webhook servers accept at once, how long they wait for clients, and the memory that bodies may take.

Times and sizes are settings of a server (`ReviewLimits`); the bound on reviews is one object for all servers
(`ReviewBound`), with the budget of their memory (`MemoryBudget`). Which of the admitted reviews runs its hook first is
decided where hooks are run (engine/reviews/review_runs.py): a review that only waits for snapshots must not keep
others from running.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

from aiohttp import web

from hookrunner.metrics.names import Metrics
from hookrunner.options import Memory
from kubetypes.light_dataclasses import dataclass

_UNLIMITED = 1 << 60
"""Without a limit version 1 writes a number close to the largest."""


_ASSUMED = 2 << 30
"""The memory that shares refer to if there is no limit."""


def bytes_of(memory: Memory, root: Path = Path("/")) -> int:
    """The number of bytes of a setting, or its share of what this process may have."""
    return memory.size or int((memory_limit(root) or _ASSUMED) * memory.share)


def memory_limit(root: Path = Path("/")) -> int | None:
    """The lowest limit, in bytes, of this process's control group and its parents, version 2 or 1. None without a limit
    or without control groups.

    Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files,
    https://docs.kernel.org/admin-guide/cgroup-v1/memory.html
    """
    limits = [limit for file in _files(root) if (limit := _limit(file)) is not None]
    return min(limits, default=None)


def _files(root: Path) -> Iterator[Path]:
    """Where limits are written. In a container the path of a group may be one that is seen only outside: then the
    container's own group is mounted at the top."""
    mount = root / "sys/fs/cgroup"
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from _upwards(mount, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _upwards(mount / "memory", path, "memory.limit_in_bytes")


def _upwards(mount: Path, path: str, name: str) -> Iterator[Path]:
    group = mount.joinpath(*[part for part in path.split("/") if part not in ("", "..")])
    for directory in (group, *group.parents):
        yield directory / name
        if directory == mount:
            return


def _lines(file: Path) -> list[str]:
    try:
        return [line for line in file.read_text("utf-8", "replace").splitlines() if line.count(":") >= 2]
    except OSError:
        return []


def _limit(file: Path) -> int | None:
    """A limit in bytes; None for `max`, for the number that version 1 writes instead, and for an unreadable file."""
    with suppress(OSError, ValueError):
        limit = int(file.read_text("ascii"))
        return limit if limit < _UNLIMITED else None
    return None


class BudgetExhausted(Exception):
    """There is no room at the moment; the message is the number of bytes in use."""


class MemoryBudget:
    """The memory that the bodies of all requests may take together: any client that reaches a webhook port sends them.

    `memory` is the whole, in bytes. One half is for bodies as they came, from their first byte until they are answered:
    a review that waits costs as much as one that runs. The other half is for what is parsed. Reviews that need room
    there wait for it in the order of their arrival, and hold nothing of that half meanwhile; so the halves cannot wait
    for each other.
    """

    def __init__(self, memory: int) -> None:
        self.half = memory // 2
        self._taken = 0
        self._parsed = 0
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()

    @contextmanager
    def taking(self) -> Iterator[Callable[[int], None]]:
        """Take room for one body until the end of the `with`; call what it yields with the size of each piece.

        That raises BudgetExhausted if the body is too large. Sizes that clients announce do not count: it costs nothing
        to announce.
        """
        taken = 0

        def take(size: int) -> None:
            nonlocal taken
            if self._taken + size > self.half:
                raise BudgetExhausted(self._taken)
            self._taken += size
            taken += size

        try:
            yield take
        finally:
            self._taken -= taken

    @asynccontextmanager
    async def parsing(self, cost: int) -> AsyncIterator[None]:
        """Take room for what is parsed, at most a half, until the end of the `with`; waits for it indefinitely."""
        async with self._turn:
            while self._parsed + cost > self.half:
                self._freed.clear()
                await self._freed.wait()
            self._parsed += cost
        try:
            yield
        finally:
            self._parsed -= cost
            self._freed.set()


MEBIBYTE = 1024 * 1024

TREE = 4
"""How many times the largest body may be taken by a parsed one. A list of `{}` takes 25 times its own text, an object
as people write them 6 times; those that come near the largest body are mostly long strings."""

CONNECTIONS = 4096

RETRY_AFTER = "1"
"""Seconds. The API server itself repeats a review that was answered 429 with this header, up to ten times within the
timeout of the webhook (client-go, rest/with_retry.go), so that users do not notice a short burst."""


@dataclass(frozen=True, slots=True)
class ReviewLimits:
    """Seconds and bytes.

    `idle` has to be longer than the 90 s for which Go's client keeps an idle connection: it cannot repeat a POST, so a
    request that crosses with our closing of the connection ends in `EOF` for the user whose request is reviewed
    (shell-operator, which closes after 10 s, has this problem). Go also opens connections that it does not use at once,
    so the same holds for a connection on which nothing came yet.
    """

    arrival: float = 10.0
    """From the first byte of a request to its last."""
    idle: float = 120.0
    """Between requests, and before the first."""
    connections: int = CONNECTIONS
    """Open ones, each of some 80 KiB. More than reviews in the queue, since each review in HTTP/1.1 has its own."""
    handshake: float = 10.0
    farewell: float = 5.0
    """For the client to end TLS on its side."""
    parting: float = 1.0
    """The same when the program stops."""
    taking: float = 30.0
    """For the client to take its answer."""
    grace: float = 10.0
    """For running reviews when the program stops."""
    admission_body: int = 5 * MEBIBYTE
    """An object has at most 3 MiB (the API server's own limit for a body), its predecessor 1.5 (that of etcd)."""
    conversion_body: int = 64 * MEBIBYTE
    """All objects of a kind come in one request if a client lists them unpaged."""


class ReviewBound:
    """How many reviews are being answered or wait for their turn, over all servers, and how many may be.

    `most` is `--webhook-concurrency` plus `--webhook-queue`; `budget` is for what their bodies take.
    """

    def __init__(self, most: int, budget: MemoryBudget, metrics: Metrics) -> None:
        self.budget = budget
        self._most = most
        self._admitted = 0
        metrics.webhook_running.from_function(lambda: [((), self._admitted)])

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Admit one more review until the end of the `with`. Raises HTTPTooManyRequests if that is too many."""
        if self._admitted >= self._most:
            raise enough(f"{self._admitted} reviews are being answered or wait")
        self._admitted += 1
        try:
            yield
        finally:
            self._admitted -= 1

    @contextmanager
    def taking(self) -> Iterator[Callable[[int], None]]:
        """Take room for the body of one review until the end of the `with`; call what it yields with the size of each
        piece. That raises HTTPTooManyRequests, at once, if the body is too large."""
        with self.budget.taking() as take:
            try:
                yield take
            except BudgetExhausted as error:
                raise enough(f"reviews that are being answered or wait have {error} bytes") from error

    async def take_room(self, stack: AsyncExitStack, cost: int, deadline: float) -> None:
        """Take room for one parsed body until the end of `stack`. Raises HTTPTooManyRequests at the deadline."""
        try:
            async with asyncio.timeout_at(deadline):
                await stack.enter_async_context(self.budget.parsing(cost))
        except TimeoutError:
            raise enough(f"reviews that are being answered have all {self.budget.half} bytes for parsing") from None


def enough(there: str) -> web.HTTPTooManyRequests:
    """The refusal of a review for which there is no room or time now; `there` names what takes it."""
    return web.HTTPTooManyRequests(
        text=f"{there}: no more are taken now, ask again\n", headers={"Retry-After": RETRY_AFTER}
    )
