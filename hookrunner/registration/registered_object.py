"""One object in the cluster, brought to the desired state and kept there, also against other writers.

    registered.expect(certificates)
    await registered.reconcile()        # until it was read back in sync, or a person has to act
    await registered.follow(watches)    # until cancelled: repair it as soon as a watch shows that it differs

Temporary errors are retried indefinitely.

`RepairHistory`: how often our repairs were changed back, by which writer, and how long to wait before the next repair.
Once is an accident and is repaired at once. More often it is intended, usually by another controller or a GitOps tool:
then the pauses grow, so that two writers do not overwrite each other all day, and `problem` names that writer.

`Challenge`: does the younger process still exist that desires another state than we do? It may have ended without a
successor, as an old pod that was restarted in the middle of a rollout, or its clock was wrong. Its registrations would
then stay indefinitely, because only a younger process may replace them. So we put a question on the object; a process
that still desires its content removes the question at once. If none does, we take the object over. The question changes
no webhook.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import replace

from hookrunner import log
from hookrunner.errors import Denied, KubeError
from hookrunner.kube import writes
from hookrunner.kube.back_off import jitter
from hookrunner.kube.client import Client
from hookrunner.kube.informer import ObjectState, follow_object
from hookrunner.kube.lacked_rights import tolerated_refusals
from hookrunner.kube.watch import Watches
from hookrunner.kube.writes import FIELD_MANAGER, ObjectRef, WriteOptions
from hookrunner.model.events import WatchLost, WatchRestored
from hookrunner.model.resources import Selection
from hookrunner.registration.reconcile import (
    CHALLENGE,
    Claim,
    InSync,
    LostRace,
    WriteStep,
    Yielded,
    next_step,
    read_live,
    take_step,
)
from hookrunner.registration.webhook_objects import Registration, TrustedCertificates
from hookrunner.waits import Notifier, Pauses
from kubetypes.json_values import JSON

_log = log.get(__name__)
_PAUSES = Pauses(0.02, 4.0)
"""Seconds between attempts. The longest is short: an API server that is back sends no reviews until we have registered
ourselves."""
_SECOND_LOOK = 30.0
"""Seconds after which a write that needs a person's help is tried again: a right may have been granted unnoticed."""


class RegisteredObject:
    """`in_sync`: whether it was in the desired state when it was read last. `settled`: whether it ever was, or is left
    to another process. `failure`: why it could not be written. `seen` is the object as it was read or watched last,
    None if it did not exist; `changed` wakes those that wait for news of any of these. `converts_anew` is set when a
    CRD without a conversion has got one."""

    def __init__(self, client: Client, registration: Registration, claim: Claim) -> None:
        self.registration = registration
        self.in_sync = False
        self.settled = False
        self.seen: JSON | None = None
        self.changed = Notifier()
        self.converts_anew = asyncio.Event()
        self._client = client
        self._claim = claim
        self._trust = TrustedCertificates()
        self.failure = ""
        self._trouble = ""
        self._yielded = False
        self._challenge = Challenge(client, registration, claim)
        self._unwatched = ""
        self._repairs = RepairHistory()
        self._readable = asyncio.Event()
        self._writing = asyncio.Lock()
        self._differs = asyncio.Event()

    def __str__(self) -> str:
        return f"{self.registration.resource.kind} '{self.registration.name}'"

    @property
    def problem(self) -> str:
        """For a person; empty without one."""
        return self._trouble or self._repairs.problem or self._unwatched

    def set_desired(self, registration: Registration) -> None:
        """Set another desired state of the same object."""
        self.registration, self.in_sync = registration, False

    def expect(self, certificates: Sequence[bytes]) -> None:
        """Set the certificates that the API server should trust from now on. At first present ones stay beside them: a
        pod of the last release may still show one of those."""
        self._trust = TrustedCertificates(tuple(certificates), exact=self.settled)

    async def reconcile(self, by_hand: bool = False) -> list[JSON]:
        """Write until it is in sync, or a person or another process has to act; the object before each write.

        `by_hand` also replaces what other processes desire.
        """
        overwritten: list[JSON] = []
        failures = 0
        claim = replace(self._claim, by_hand=True) if by_hand else self._claim
        async with self._writing:
            while not await self._attempt(overwritten, claim):
                failures += 1
                await self._client.outage.sleep(jitter(_PAUSES.after(failures)))
        return overwritten

    async def follow(self, watches: Watches) -> None:
        """Repair it as soon as a watch shows that it differs; runs until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch(watches), name=f"watch {self}")
            tasks.create_task(self._repair(), name=f"repair {self}")
            tasks.create_task(self._retry_after_outages(), name=f"retry {self} after outages")

    async def _retry_after_outages(self) -> None:
        """Try again after outages: a server that has just started refuses even clients that have the right."""
        async for _ in self._client.outage.ends():
            if self.failure:
                self._differs.set()

    async def _attempt(self, overwritten: list[JSON], claim: Claim) -> bool:
        """Make one attempt; is nothing left to do for now?"""
        trust = self._trust
        try:
            step, before = await take_step(self._client, self.registration, trust, claim)
        except KubeError as error:
            return self._note_error(error)
        self._readable.set()
        self.seen = before
        if isinstance(step, LostRace):
            return False
        if isinstance(step, WriteStep):
            _log.info("writing a registration", object=str(self), method=step.method)
            overwritten.append(before)
            if _is_unconverted(before):
                self.converts_anew.set()
            return False
        if self._trust is trust:
            self._trust = replace(trust, exact=False)
        self._settle(step)
        return True

    def _note_error(self, error: KubeError) -> bool:
        """Note an error; is nothing left to do for now? Users without webhooks grant no rights for them."""
        if isinstance(error, Denied) and not self.registration.digest:
            self._settle(InSync(False))
            return True
        self._fail(error)
        return not error.brief

    async def _watch(self, watches: Watches) -> None:
        """Watch the object once it was readable: a refused watch would be reported as lost in the log. Roles made for
        shell-operator have no right to watch, and need none: then it is listed now and then."""
        await self._readable.wait()
        resource = self.registration.resource
        selection = Selection(resource.api_version, resource.kind, fields=f"metadata.name={self.registration.name}")
        with tolerated_refusals():
            async with aclosing(follow_object(watches, selection)) as states:
                async for state in states:
                    self._take_in(state)

    def _take_in(self, state: ObjectState | WatchLost | WatchRestored) -> None:
        match state:
            case ObjectState(obj, is_synced):
                self._unwatched = "" if is_synced else self._unwatched
                self._compare(obj)
            case WatchRestored():
                self._unwatched = ""
            case WatchLost(reason, brief):
                self._unwatched = "" if brief else f"not watched, so not repaired: {reason}"

    def _compare(self, obj: JSON | None) -> None:
        """Compare the object that the watch shows; it may be older than our last write, so a repair reads it again."""
        self.seen = obj
        step = next_step(self.registration, obj, self._trust, self._claim)
        if isinstance(step, WriteStep):
            self._differs.set()
        else:
            self._settle(step)

    async def _repair(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SECOND_LOOK):
                    await self._differs.wait()
            if self._yielded and not self._differs.is_set():
                await self._contest()
            if not self._differs.is_set() and not self.failure:
                continue
            self._differs.clear()
            await asyncio.sleep(self._repairs.pause)
            # A client that creates a CRD, or grants us a right, has undone no repair.
            new = 0 if self.in_sync else 1
            for before in (await self.reconcile())[new:]:
                self._repairs.add(before)
                _log.warn("a registration was changed, repaired", object=str(self), by=last_writer(before))

    async def _contest(self) -> None:
        """Take over from a younger process that no longer exists."""
        with suppress(KubeError):
            if await self._challenge.lacks_answer():
                _log.warn("no running process wants what is registered, taking over", object=str(self))
                await self.reconcile(by_hand=True)

    def _settle(self, step: InSync | Yielded) -> None:
        self.failure, self._yielded, self.settled = "", isinstance(step, Yielded), True
        self.in_sync = isinstance(step, InSync) and step.exists
        self._report(_describe_yielded(step) if isinstance(step, Yielded) else self._describe_absent(step))
        self.changed.notify()

    def _describe_absent(self, step: InSync) -> str:
        is_desired = self.registration.digest and not step.exists
        return "does not exist yet, is configured when it appears" if is_desired else ""

    def _fail(self, error: KubeError) -> None:
        """Report a failure: as long as it lasts, the API server admits what hooks would refuse."""
        self.failure, self.in_sync = str(error), False
        self._report(self.failure, "warn" if error.brief else "error")
        self.changed.notify()

    def _report(self, problem: str, level: str = "warn") -> None:
        if problem and problem != self._trouble:
            _log.log(level, "registration is not as it should be", object=str(self), reason=problem)
        self._trouble = problem


def _describe_yielded(step: Yielded) -> str:
    return (
        f"left as it is: another process, started later ({step.generation}), wants something else there. If that one "
        "is gone, we take over in a minute; if it is another installation, give each its own configuration name"
    )


def _is_unconverted(before: JSON | None) -> bool:
    """Is this a CRD whose objects are not converted?"""
    conversion = (before or {}).get("spec", {}).get("conversion", {})
    return bool(conversion.get("strategy") == "None")


_REPAIR_PAUSES = Pauses(0.5, 30.0)
_FORGOTTEN = 60.0
"""Seconds without a change after which the dispute is over."""

_STUBBORN = 3
_LONGEST_REST = 64


class RepairHistory:
    """Counts repairs in the event loop's time."""

    def __init__(self) -> None:
        self._times = 0
        self._last = float("-inf")
        self._by = ""

    @property
    def pause(self) -> float:
        """Seconds to wait before the next repair."""
        return _REPAIR_PAUSES.after(self._recent())

    @property
    def problem(self) -> str:
        """The dispute, for a person; empty while the change may have been an accident."""
        times = self._recent()
        if times < _STUBBORN:
            return ""
        return f"changed back {times} times, last by {self._by}, and repaired after {self.pause:g} s: stop that writer"

    def add(self, before: JSON | None) -> None:
        """Note a repair of an object that was like this before."""
        self._times = self._recent() + 1
        self._last = _now()
        self._by = last_writer(before)

    def _recent(self) -> int:
        return self._times if _now() - self._last < _FORGOTTEN else 0


class Challenge:
    """The question on one object. Call `lacks_answer` at regular intervals, each long enough for an answer; after each
    answer the next question comes later."""

    def __init__(self, client: Client, registration: Registration, claim: Claim) -> None:
        self._client = client
        self._registration = registration
        self._generation = claim.generation
        self._rest = self._rests = 0

    async def lacks_answer(self) -> bool:
        """Does the last question stand unanswered? Otherwise ask again, unless it is too early. Raises KubeError."""
        existing = await read_live(self._client, self._registration.resource, self._registration.name)
        if existing is None:
            return False
        annotations = existing["metadata"].get("annotations") or {}
        if annotations.get(CHALLENGE) == self._generation:
            return True
        if self._rest:
            self._rest -= 1
            return False
        await self._ask(existing, annotations)
        self._rests = min(self._rests * 2 + 1, _LONGEST_REST)
        self._rest = self._rests
        return False

    async def _ask(self, existing: JSON, annotations: JSON) -> None:
        """Write the question into the version that was read: if the object was changed since, another process
        exists."""
        metadata = existing["metadata"] | {"annotations": annotations | {CHALLENGE: self._generation}}
        body = existing | {"metadata": metadata}
        ref = ObjectRef(self._registration.resource, name=self._registration.name)
        await writes.replace(self._client, ref, body, WriteOptions(FIELD_MANAGER))


def last_writer(obj: JSON | None) -> str:
    """The field manager, not us, that wrote last to an object.

    Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers
    """
    if obj is None:
        return "a client that deletes it"
    entries = obj["metadata"].get("managedFields") or []
    others = [entry for entry in entries if entry.get("manager", FIELD_MANAGER) != FIELD_MANAGER]
    if not others:
        return "an unknown writer"
    return f"'{max(others, key=lambda entry: str(entry.get('time', '')))['manager']}'"


def _now() -> float:
    return asyncio.get_running_loop().time()
