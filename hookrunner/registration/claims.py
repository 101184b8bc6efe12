"""Who may write an object that several processes look after, without a lock between them.

On the object stands what was wanted, as a digest, and since when the process lives that wanted it. Replicas want the
same, so anyone of them may repair. Who wants something else has to be younger: a pod of the last release, which waits
for its end, then cannot undo what the new one has registered. Both are annotations.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from hookrunner.model.resources import JSON
from kubetypes import json_values

GENERATION = "hookrunner.io/generation"
WANTED = "hookrunner.io/wanted"
CHALLENGE = "hookrunner.io/challenge"
"""Somebody older asks whether anybody still wants what stands here (`challenge`); whoever does takes it away."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What this process may write: over what older ones have written, and over what it has wanted itself before.
    `generation` is its start as text that sorts by time, and ends with Z."""

    generation: str
    by_hand: bool = False
    """A person has asked for it: no other process counts."""

    def admits(self, existing: JSON, digest: str) -> bool:
        """May we write our wish, of this digest, over what is there?"""
        annotations = existing["metadata"].get("annotations") or {}
        theirs, wanted = annotations.get(GENERATION, ""), annotations.get(WANTED, digest)
        return self.by_hand or wanted == digest or theirs <= self.generation


def claim(started: float) -> Claim:
    """Of a process that lives since then, in seconds since 1970."""
    return Claim(datetime.fromtimestamp(started, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


def claimed(metadata: JSON, digest: str, generation: str) -> JSON:
    """The metadata with our claim on it. Of the same wish the first generation stays."""
    answered = without(metadata, "annotations", CHALLENGE)
    annotations = answered.get("annotations") or {}
    if annotations.get(WANTED) == digest and GENERATION in annotations:
        return answered
    return answered | {"annotations": annotations | {GENERATION: generation, WANTED: digest}}


def unclaimed(metadata: JSON) -> JSON:
    """The metadata without any claim."""
    return without(metadata, "annotations", GENERATION, WANTED, CHALLENGE)


def without(metadata: JSON, place: str, *keys: str) -> JSON:
    """The metadata without some labels or annotations, and without a map that would be empty."""
    left = {key: value for key, value in (metadata.get(place) or {}).items() if key not in keys}
    rest = {key: value for key, value in metadata.items() if key != place}
    return rest | ({place: left} if left else {})


def digest(wanted: JSON) -> str:
    """A short text that is the same for the same wish."""
    return hashlib.sha256(json_values.canonical(wanted)).hexdigest()[:16]
