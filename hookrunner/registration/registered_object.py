"""One object in the cluster, made right and kept right.

    registered.expect(Trust(certificates))
    await registered.settle()           # until it was read back as it should be, or a person has to act
    await registered.follow(watches)    # for ever: repair it as soon as a watch shows that it is wrong

What is temporary is tried again for ever. If something undoes us again and again, the pauses grow, and `problem` says
who it is.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import replace

from hookrunner import log
from hookrunner.errors import Denied, KubeError
from hookrunner.kube.client import Client
from hookrunner.kube.informer import ObjectState, follow_object
from hookrunner.kube.watch import Watches
from hookrunner.model.resources import JSON, Selection
from hookrunner.model.watching import WatchLost, WatchRestored
from hookrunner.pacing import exponential, jitter
from hookrunner.registration.claims import Claim
from hookrunner.registration.disputes import Challenge, RepairHistory, last_writer
from hookrunner.registration.reconcile import InSync, LostRace, WriteStep, Yielded, next_step, take_step
from hookrunner.registration.webhook_objects import Registration, Trust

_LOG = log.get("registration")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 4.0
"""Seconds between attempts. The last is short: an API server that is back asks no hook before we have told it to."""
_SECOND_LOOK = 30.0
"""Seconds after which is tried again what only a person can mend: rights may have been given without a sign."""


class RegisteredObject:
    """`right` says whether it was as it should be when last seen; `settled` whether it ever was, or is left to others
    for good; `failure` why it could not be written; `converts_anew` is set when a CRD without a conversion has got
    one."""

    def __init__(self, client: Client, registration: Registration, claim: Claim) -> None:
        self.registration = registration
        self.right = False
        self.settled = False
        self.converts_anew = asyncio.Event()
        self._client = client
        self._claim = claim
        self._trust = Trust()
        self.failure = ""
        self._trouble = ""
        self._left = False
        self._challenge = Challenge(client, registration, claim)
        self._unwatched = ""
        self._undone = RepairHistory()
        self._readable = asyncio.Event()
        self._writing = asyncio.Lock()
        self._wrong = asyncio.Event()

    def __str__(self) -> str:
        return f"{self.registration.resource.kind} '{self.registration.name}'"

    @property
    def problem(self) -> str:
        """For a person; empty without one."""
        return self._trouble or self._undone.problem or self._unwatched

    def want(self, registration: Registration) -> None:
        """Something else about the same object."""
        self.registration, self.right = registration, False

    def expect(self, certificates: Sequence[bytes]) -> None:
        """Whom the API server is to trust from now on. At first others stay beside them: a pod of the last release may
        still show one of theirs."""
        self._trust = Trust(tuple(certificates), exact=self.settled)

    async def settle(self, by_hand: bool = False) -> list[JSON]:
        """Return when it is right, or when a person or another process has to act; what it was before each write.
        `by_hand` is against any other process."""
        overwritten: list[JSON] = []
        failures = 0
        claim = replace(self._claim, by_hand=True) if by_hand else self._claim
        async with self._writing:
            while not await self._settled(overwritten, claim):
                await self._client.outage.sleep(jitter(exponential(_FIRST_PAUSE, _LONGEST_PAUSE, failures)))
                failures += 1
        return overwritten

    async def follow(self, watches: Watches) -> None:
        """Repair it for ever, as soon as a watch shows that it is wrong."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen(watches), name=f"watch {self}")
            tasks.create_task(self._repair(), name=f"repair {self}")
            tasks.create_task(self._look_after_outages(), name=f"look after outages at {self}")

    async def _look_after_outages(self) -> None:
        """A server that starts refuses even those who have the right."""
        async for _ in self._client.outage.ends():
            if self.failure:
                self._wrong.set()

    async def _settled(self, overwritten: list[JSON], claim: Claim) -> bool:
        """One attempt; is there nothing more to do for now?"""
        trust = self._trust
        try:
            found, before = await take_step(self._client, self.registration, trust, claim)
        except KubeError as error:
            return self._unread(error)
        self._readable.set()
        if isinstance(found, LostRace):
            return False
        if isinstance(found, WriteStep):
            _LOG.info("writing a registration", object=str(self), method=found.method)
            overwritten.append(before)
            if _unconverted(before):
                self.converts_anew.set()
            return False
        if self._trust is trust:
            self._trust = replace(trust, exact=False)
        self._is(found)
        return True

    def _unread(self, error: KubeError) -> bool:
        """What an error means; is there nothing more to do for now? Users without webhooks give no rights for them."""
        if isinstance(error, Denied) and not self.registration.digest:
            self._is(InSync(False))
            return True
        self._fails(error)
        return not error.brief

    async def _listen(self, watches: Watches) -> None:
        """A watch that can only be refused is not opened: it would be in the log as lost."""
        await self._readable.wait()
        resource = self.registration.resource
        selection = Selection(resource.api_version, resource.kind, fields=f"metadata.name={self.registration.name}")
        async with aclosing(follow_object(watches, selection)) as states:
            async for state in states:
                self._take_in(state)

    def _take_in(self, state: ObjectState | WatchLost | WatchRestored) -> None:
        match state:
            case ObjectState(obj, is_synced):
                self._unwatched = "" if is_synced else self._unwatched
                self._see(obj)
            case WatchRestored():
                self._unwatched = ""
            case WatchLost(reason, brief):
                self._unwatched = "" if brief else f"not watched, so not repaired: {reason}"

    def _see(self, obj: JSON | None) -> None:
        """The object as the watch shows it, perhaps older than our last write: whoever repairs reads it again."""
        found = next_step(self.registration, obj, self._trust, self._claim)
        if isinstance(found, WriteStep):
            self._wrong.set()
        else:
            self._is(found)

    async def _repair(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SECOND_LOOK):
                    await self._wrong.wait()
            if self._left and not self._wrong.is_set():
                await self._contest()
            if not self._wrong.is_set() and not self.failure:
                continue
            self._wrong.clear()
            await asyncio.sleep(self._undone.pause)
            # Whoever brings a CRD, or gives us a right, has changed nothing back.
            new = 0 if self.right else 1
            for before in (await self.settle())[new:]:
                self._undone.repaired(before)
                _LOG.warn("a registration was changed, repaired", object=str(self), by=last_writer(before))

    async def _contest(self) -> None:
        """Take over from a younger process that is gone."""
        with suppress(KubeError):
            if await self._challenge.unanswered():
                _LOG.warn("nobody wants what is registered any more, taking over", object=str(self))
                await self.settle(by_hand=True)

    def _is(self, found: InSync | Yielded) -> None:
        self.failure, self._left, self.settled = "", isinstance(found, Yielded), True
        self.right = isinstance(found, InSync) and found.there
        self._tell(_left(found) if isinstance(found, Yielded) else self._absent(found))

    def _absent(self, found: InSync) -> str:
        wanted = self.registration.digest and not found.there
        return "does not exist yet, is configured when it appears" if wanted else ""

    def _fails(self, error: KubeError) -> None:
        """As long as it is not registered, what hooks would refuse is let in."""
        self.failure, self.right = str(error), False
        self._tell(self.failure, "warn" if error.brief else "error")

    def _tell(self, problem: str, level: str = "warn") -> None:
        if problem and problem != self._trouble:
            _LOG.log(level, "registration is not as it should be", object=str(self), reason=problem)
        self._trouble = problem


def _left(found: Yielded) -> str:
    return (
        f"left as it is: another process, started later ({found.generation}), wants something else there. If that one "
        "is gone, we take over in a minute; if it is another installation, give each its own configuration name"
    )


def _unconverted(before: JSON | None) -> bool:
    """A CRD whose objects nobody has converted."""
    conversion = (before or {}).get("spec", {}).get("conversion", {})
    return bool(conversion.get("strategy") == "None")
