"""One of several replicas leads: competition for a Lease, by client-go's rules where they are safe.

    elector = LeaderElector(client, LeaseLock("kube-system", "cloud-controller-manager", new_identity()))
    await elector.run(lead)  # `lead()` runs while we hold the Lease, and is cancelled at once when it is lost

Two that compete by these rules never lead at the same time, whatever their wall clocks say, however slow the network
and however long a process was stopped: a leader stops `renew_deadline` after the *beginning* of its last renewal that
succeeded; another waits for the whole lease duration after the *answer* in which it saw that renewal.

Where we differ from client-go:
- The deadline begins with the request, not with its answer plus a retry period: a slow answer does not extend it.
- A leader that sees another holder stops at once; client-go tries on until its deadline. So `take_over` works.
- A candidate looks again within a retry period, and when the Lease runs out; client-go waits up to 2.2 periods.
- A candidate that has seen the Lease waits for its duration when it is deleted, or its holder taken out: the
  holder, which does not know that yet, creates or takes it again. With client-go both lead until its deadline.

Give it a client of its own without a rate limit: requests that wait behind others would cost the leadership. It needs
the rights `get` and `update` on the Lease, and `create` on Leases in its namespace.
Source: https://pkg.go.dev/k8s.io/client-go/tools/leaderelection
"""

import asyncio
import socket
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress

from hookrunner import log
from hookrunner.controllers.lease import LEASES, LeaseLock, LeaseTimes, SeenLease, claimed, released, reserved
from hookrunner.errors import AlreadyExists, Conflict, HookrunnerError, KubeError, NotFound
from hookrunner.kube import refusals, writes
from hookrunner.kube.back_off import jitter
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef, WriteOptions
from kubetypes.json_values import JSON
from kubetypes.timers import pause

_DEFAULTS = LeaseTimes()
_RELEASE_TIMEOUT = 2.0
"""Seconds for giving the Lease back at the end; after that it runs out by itself."""
_TAKE_OVER_ATTEMPTS = 10
_RULES = (
    refusals.rbac_rule(LEASES, ("get", "update")),
    refusals.rbac_rule(LEASES, ("create",)),
)

_log = log.get(__name__)


class LeaseLost(HookrunnerError):
    """We lead no more. The message says why."""


def new_identity() -> str:
    """A name for this process that no other has: the host's, as people look for it, and a random part."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class LeaderElector:
    """Competes for one Lease. `problem` is why it could not be read or written last, or "". `reserve`: seconds after
    our work in which no candidate leads, unless it fails."""

    def __init__(self, client: Client, lock: LeaseLock, timing: LeaseTimes = _DEFAULTS, reserve: float = 0.0) -> None:
        self.lock = lock
        self.timing = timing
        self.problem = ""
        self._client = client
        self._reserve = reserve
        self._seen: SeenLease | None = None
        self._left_until = 0.0
        """Until when another may lead that does not know that it has lost the Lease."""
        self._leads_until = 0.0
        self._claiming: asyncio.Task[None] | None = None
        """The write that makes a candidate the leader."""
        self._is_unsure = False
        """Have we written ourselves into the Lease without knowing whether that arrived?"""
        self._options = WriteOptions(timeout=timing.renew_deadline / 2)

    @property
    def is_leader(self) -> bool:
        """Do we lead at this moment? False as soon as another could lead, even if this process was stopped meanwhile
        and its tasks do not know yet."""
        return asyncio.get_running_loop().time() < self._leads_until

    @property
    def holder(self) -> str:
        """The identity of the leader as far as we know; empty without one, and before the first look."""
        return self._seen.holder if self._seen else ""

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Compete for the Lease; run `lead()` while we hold it; compete again when it was lost. When `lead()` returns,
        the Lease is given back, and this ends. To cancel it also cancels `lead()` and gives the Lease back, which a
        candidate may just have taken: that takes up to 2 s.

        What `lead()` raises comes out in an ExceptionGroup, after the Lease was given back.
        """
        while True:
            reserve = 0.0
            try:
                await self._acquire()
                _log.info("became leader", lease=self._name, identity=self.lock.identity)
                lost = await self._lead(lead)
                reserve = 0.0 if lost else self._reserve
            finally:
                self._leads_until = 0.0
                await self._release(reserve)
            if not lost:
                return
            _log.error("lost leadership", lease=self._name, identity=self.lock.identity, reason=lost)

    async def take_over(self) -> float:
        """Write ourselves into the Lease though another holds it, so that the holder stops; `run` then leads at once.
        Returns the seconds after which the holder has stopped for certain: it may be cut off from the server, and go on
        until its own deadline. Raises KubeError."""

        async def attempt() -> float:
            await self._look()
            seen = self._seen
            await self._claim()
            is_held = seen and seen.holder not in ("", self.lock.identity)
            return seen.caution if seen and is_held else 0.0

        return await writes.retry_on_conflict(attempt, _TAKE_OVER_ATTEMPTS)

    async def _acquire(self) -> None:
        """Wait until the Lease is ours."""
        announced = None
        while not await self._attempt(self._take):
            if self.holder != announced and not self.problem:
                announced = self.holder
                seconds = max(0.0, self._seen.expires - _now()) if self._seen else 0.0
                _log.info("waiting for the lease", lease=self._name, holder=announced, free_in_seconds=round(seconds))
            await asyncio.sleep(self._pause())

    def _pause(self) -> float:
        """Seconds until a candidate looks again."""
        seconds, now = jitter(0.8 * self.timing.retry_period), _now()
        if self._seen and not self._seen.is_free(now):
            return min(seconds, pause(self._seen.expires, now))
        return seconds

    async def _lead(self, lead: Callable[[], Awaitable[None]]) -> str:
        """Run `lead()` and renew the Lease; why that was lost, or "" if `lead()` has returned."""
        lost = ""
        try:
            async with asyncio.TaskGroup() as group:
                renewing = group.create_task(self._renew_until_lost(), name=f"renew lease {self._name}")
                await lead()
                renewing.cancel()
        except* LeaseLost as errors:
            lost = str(errors.exceptions[0])
        return lost

    async def _renew_until_lost(self) -> None:
        """Renew the Lease in time. Raises LeaseLost."""
        while True:
            try:
                async with asyncio.timeout_at(self._leads_until):
                    await asyncio.sleep(self.timing.retry_period)
                    await self._attempt(self._renew)
            except TimeoutError:
                why = f": {self.problem}" if self.problem else ""
                raise LeaseLost(f"it was not renewed within {self.timing.renew_deadline:g} s{why}") from None

    async def _attempt(self, step: Callable[[], Awaitable[bool]]) -> bool:
        """Take one step; False if it did not succeed, or if another client was quicker."""
        try:
            return await step()
        except (Conflict, AlreadyExists):
            return False
        except KubeError as error:
            self._note(error)
            return False

    async def _take(self) -> bool:
        """Take the Lease if it is free or ours. Is it ours now?"""
        await self._look()
        if _now() < self._left_until:
            return False
        if self._seen and self.holder != self.lock.identity and not self._seen.is_free(_now()):
            return False
        self._claiming = asyncio.create_task(self._claim(), name=f"take lease {self._name}")
        await asyncio.shield(self._claiming)  # a request that is cancelled may arrive all the same, and later
        return True

    async def _renew(self) -> bool:
        """Renew the Lease that is ours: one request, unless another client has written to it. Raises LeaseLost if it is
        not ours any more, though it may be free: another may have led meanwhile."""
        with suppress(Conflict, NotFound, AlreadyExists):
            await self._claim()
            return True
        await self._look()
        if self._seen and self.holder != self.lock.identity:
            self._leads_until = 0.0
            raise LeaseLost(f"'{self.holder}' has taken it over" if self.holder else "it was taken over and given back")
        await self._claim()
        return True

    async def _look(self) -> None:
        """Read the Lease."""
        try:
            document = await writes.read(self._client, self.lock.ref, self._options.timeout)
        except NotFound:
            if self._seen:
                self._left_until = _now() + self._seen.caution
            self._seen, self._is_unsure = None, False
        else:
            self._see(document)
        self.problem = ""

    async def _claim(self) -> None:
        """Write ourselves into the Lease that was seen. Raises KubeError, then it is not known what was written."""
        began, self._is_unsure = _now(), True
        document = claimed(self._seen, self.lock, self.timing, time.time())
        if self._seen:
            answer = await writes.replace(self._client, self.lock.ref, document, self._options)
        else:
            answer = await writes.create(self._client, ObjectRef(LEASES, self.lock.namespace), document, self._options)
        self._see(answer.json)
        self._leads_until, self._left_until = began + self.timing.renew_deadline, 0.0
        self.problem = ""

    def _see(self, document: JSON) -> None:
        now, before, self._is_unsure = _now(), self._seen, False
        self._seen = before.seen_again(document, now) if before else SeenLease(document, now)
        if before and before.holder and not self._seen.holder and not self._seen.is_given_back:
            self._left_until = now + before.caution

    def _note(self, error: KubeError) -> None:
        """Keep and log why the Lease cannot be read or written, once for each reason."""
        explained = refusals.explain_rights(error, f"use the Lease {self._name}", *_RULES)
        if str(explained) != self.problem:
            self.problem = str(explained)
            _log.warn("lease cannot be read or written", lease=self._name, error=explained)

    async def _release(self, reserve: float) -> None:
        """Give the Lease back, or keep it from others for some seconds. A failure only makes others wait until it runs
        out."""
        with suppress(TimeoutError, KubeError):
            async with asyncio.timeout(_RELEASE_TIMEOUT):
                await self._end_claim()
                try:
                    await self._give_back(reserve)
                except Conflict:  # a renewal that was cancelled has arrived all the same
                    await self._look()
                    await self._give_back(reserve)

    async def _end_claim(self) -> None:
        """Wait until we know whether a candidate that is stopped has taken the Lease. Raises KubeError."""
        if self._claiming:
            try:
                await asyncio.wait({self._claiming})
            finally:
                self._claiming.cancel()
                self._leads_until = 0.0
        if self._is_unsure and self.holder != self.lock.identity:
            await self._look()

    async def _give_back(self, reserve: float) -> None:
        """Write the end of our lead into the Lease that was seen, if it is ours. Raises KubeError."""
        if self._seen is None or self.holder != self.lock.identity:
            return
        now = time.time()
        document = reserved(self._seen, reserve, now) if reserve else released(self._seen, now)
        self._see((await writes.replace(self._client, self.lock.ref, document, self._options)).json)
        _log.info("gave the lease back", lease=self._name, reserved_seconds=reserve)

    @property
    def _name(self) -> str:
        return f"{self.lock.namespace}/{self.lock.name}"


def _now() -> float:
    return asyncio.get_running_loop().time()
