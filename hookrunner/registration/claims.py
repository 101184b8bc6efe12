"""Which process may write an object that several processes look after, without a lock between them.

Annotations of the object say what was wanted, as a digest, and since when the process runs that wanted it. Replicas
want the same, so any of them may repair. A process that wants something else has to be younger: a pod of the last
release, which is about to end, then cannot undo what the new one has registered.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from hookrunner.model.resources import JSON
from kubetypes import json_values

GENERATION = "hookrunner.io/generation"
WANTED = "hookrunner.io/wanted"
CHALLENGE = "hookrunner.io/challenge"
"""An older process asks whether another still wants this content (`disputes.py`); a process that does removes it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What this process may overwrite: what older ones have written, and what it has wanted itself before.
    `generation` is its start as text that sorts by time, and ends with Z."""

    generation: str
    by_hand: bool = False
    """A person asked for it, so other processes do not count."""

    def admits(self, existing: JSON, digest: str) -> bool:
        """May we replace the existing object with ours, which has this digest?"""
        annotations = existing["metadata"].get("annotations") or {}
        theirs, wanted = annotations.get(GENERATION, ""), annotations.get(WANTED, digest)
        return self.by_hand or wanted == digest or theirs <= self.generation


def claim(started: float) -> Claim:
    """The claim of a process that was started at this time, in seconds since 1970."""
    return Claim(datetime.fromtimestamp(started, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


def claimed(metadata: JSON, digest: str, generation: str) -> JSON:
    """The metadata with our claim. If the digest is the same, the first generation stays."""
    answered = without(metadata, "annotations", CHALLENGE)
    annotations = answered.get("annotations") or {}
    if annotations.get(WANTED) == digest and GENERATION in annotations:
        return answered
    return answered | {"annotations": annotations | {GENERATION: generation, WANTED: digest}}


def unclaimed(metadata: JSON) -> JSON:
    """The metadata without any claim."""
    return without(metadata, "annotations", GENERATION, WANTED, CHALLENGE)


def without(metadata: JSON, part: str, *keys: str) -> JSON:
    """The metadata without some labels or annotations, and without a map that would be empty."""
    left = {key: value for key, value in (metadata.get(part) or {}).items() if key not in keys}
    rest = {key: value for key, value in metadata.items() if key != part}
    return rest | ({part: left} if left else {})


def digest(wanted: JSON) -> str:
    """A short text that is the same for equal values."""
    return hashlib.sha256(json_values.canonical(wanted)).hexdigest()[:16]
