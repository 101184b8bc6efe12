"""What to do about other writers of an object that we register in.

`RepairHistory`: how often our repairs were changed back, by whom, and how long to wait before the next repair. Once is
an accident and is repaired at once. More often it is intended, usually by another controller or a GitOps tool: then the
pauses grow, so that two writers do not overwrite each other all day, and `problem` says so.

`Challenge`: whether the younger process still exists that wants something else than we do. It may be gone for good, an
old pod that was restarted in the middle of a rollout, or its clock was wrong. Its registrations would then stay
indefinitely, because only a younger process may replace them. So we put a question on the object; a process that still
wants its content removes the question at once. If none does, we take the object over. No webhook changes for the
question.
"""

import asyncio

from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import FIELD_MANAGER, ObjectRef, WriteOptions
from hookrunner.model.resources import JSON
from hookrunner.pacing import exponential
from hookrunner.registration.claims import CHALLENGE, Claim
from hookrunner.registration.reconcile import read_live
from hookrunner.registration.webhook_objects import Registration

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
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
        times = self._recent()
        return exponential(_FIRST_PAUSE, _LONGEST_PAUSE, times - 1) if times else 0.0

    @property
    def problem(self) -> str:
        """For a person; empty while the change may have been an accident."""
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
    """The question on one object. Call `is_unanswered` at regular intervals, each long enough for an answer; after an
    answer the question rests longer and longer."""

    def __init__(self, client: Client, registration: Registration, claim: Claim) -> None:
        self._client = client
        self._registration = registration
        self._generation = claim.generation
        self._rest = self._rests = 0

    async def is_unanswered(self) -> bool:
        """Is the question of last time still there? Otherwise ask it, unless it is too early. Raises KubeError."""
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
        """Write as of the version that was read: if it was changed since, another process is there."""
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
