"""What is to be done about one object: nothing, a write, or nothing by us."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hookrunner.model.resources import JSON
from hookrunner.registration.claims import GENERATION, Claim, claimed, unclaimed
from hookrunner.registration.merging import Registration
from hookrunner.registration.trust import Trust


@dataclass(frozen=True, slots=True)
class Right:
    """It is as it should be. `there` is False if it does not exist, as none is wanted or its time has not come."""

    there: bool


@dataclass(frozen=True, slots=True)
class Write:
    """A request that brings the object in sync, or fails with 409 if another client was faster.

    `body` is the object to write; for a deletion, the object as it was read.
    """

    method: Literal["POST", "PUT", "DELETE"]
    body: JSON


@dataclass(frozen=True, slots=True)
class Left:
    """It is not what we want, but a younger process wants it so, since `generation`."""

    generation: str


@dataclass(frozen=True, slots=True)
class Outrun:
    """It was to be written, and somebody was faster: look again."""


Step: TypeAlias = Right | Write | Left


def step(registration: Registration, existing: JSON | None, trust: Trust, claim: Claim) -> Step:
    """The next step for an object as it is now."""
    wanted = registration.merged(existing, trust)
    if existing is None:
        return Right(False) if wanted is None else Write("POST", _stamped(registration, wanted, claim))
    if not claim.admits(existing, registration.digest):
        return Right(True) if wanted == existing else Left(existing["metadata"]["annotations"][GENERATION])
    if wanted is None:
        return Write("DELETE", existing)
    stamped = _stamped(registration, wanted, claim) if wanted != existing or registration.digest else existing
    return Right(True) if stamped == existing else Write("PUT", stamped)


def _stamped(registration: Registration, wanted: JSON, claim: Claim) -> JSON:
    metadata = wanted["metadata"]
    if not registration.digest:
        return wanted | {"metadata": unclaimed(metadata)}
    return wanted | {"metadata": claimed(metadata, registration.digest, claim.generation)}
