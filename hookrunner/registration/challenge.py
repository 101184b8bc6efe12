"""Finds out whether the younger process is still there that wants something else than we do.

It may be gone for good, an old pod that was restarted in the middle of a rollout, or its clock was wrong. Then its wish
would stand for ever, for nobody else may write. So we put a question on the object, and whoever still wants what stands
there takes it away at once. If nobody does, it is ours. No webhook changes for the question.
"""

from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import FIELD_MANAGER, ObjectRef, WriteOptions
from hookrunner.model.resources import JSON
from hookrunner.registration.claims import CHALLENGE, Claim
from hookrunner.registration.merging import Registration
from hookrunner.registration.reading import read_live

_LONGEST_REST = 64


class Challenge:
    """One object's. To be asked in regular intervals, each long enough for an answer; after an answer it rests longer
    and longer."""

    def __init__(self, client: Client, registration: Registration, claim: Claim) -> None:
        self._client = client
        self._registration = registration
        self._generation = claim.generation
        self._rest = self._rests = 0

    async def unanswered(self) -> bool:
        """Was the question put last time, and is still there? Otherwise put it, unless it is too early. Raises
        KubeError."""
        existing = await read_live(self._client, self._registration.resource, self._registration.name)
        if existing is None:
            return False
        annotations = existing["metadata"].get("annotations") or {}
        if annotations.get(CHALLENGE) == self._generation:
            return True
        if self._rest:
            self._rest -= 1
            return False
        await self._put(existing, annotations)
        self._rests = min(self._rests * 2 + 1, _LONGEST_REST)
        self._rest = self._rests
        return False

    async def _put(self, existing: JSON, annotations: JSON) -> None:
        """As of the version that was read: if it was changed since, somebody is there."""
        asked = existing["metadata"] | {"annotations": annotations | {CHALLENGE: self._generation}}
        body = existing | {"metadata": asked}
        ref = ObjectRef(self._registration.resource, name=self._registration.name)
        await writes.replace(self._client, ref, body, WriteOptions(FIELD_MANAGER))
