"""A Lease as candidates for leadership read and write it: values and decisions, without clocks or requests.

The record is client-go's, so that a manager built with it and ours never lead at the same time. Wall clocks do not
count: a Lease runs out when its `leaseDurationSeconds` have passed on the reader's own monotonic clock since it saw
this content first (`SeenLease.since`). The times in the record are for people.
Sources: https://kubernetes.io/docs/concepts/architecture/leases/,
https://pkg.go.dev/k8s.io/client-go/tools/leaderelection
"""

import math
from typing import Self

from hookrunner.kube.writes import ObjectRef
from hookrunner.model.resources import Resource
from hookrunner.model.timestamps import micro_time
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

LEASES = Resource("coordination.k8s.io/v1", "Lease", "leases", True)
_DEFAULT_DURATION = 15.0
_LONGEST_DURATION = 300.0
"""Seconds. OpenShift's managers, which are the most patient, have 137."""
_MOST_TRANSITIONS = 2**31 - 1
"""The API server takes no larger number, and anyone who may write the Lease can set this one."""
_RELEASED_DURATION = 1
"""Seconds that a Lease without holder is written to last, as client-go does: older readers look at the duration
alone."""


@dataclass(frozen=True, slots=True)
class LeaseLock:
    """The Lease that is competed for, and the name under which we do. The identity must be unique to the process."""

    namespace: str
    name: str
    identity: str

    @property
    def ref(self) -> ObjectRef:
        """The Lease."""
        return ObjectRef(LEASES, self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Seconds: how long others leave a Lease alone that is not renewed, for how long a leader goes on without having
    renewed it, and the pause between two attempts. The defaults are client-go's.

    As there, `duration` must be longer than `renew_deadline`, and that longer than 1.2 times `retry_period`;
    `settings/` refuses others. No more is asked for: a leader begins no write after its deadline, and what lies between
    that and `duration` is for the last write to arrive. The defaults give it 5 s."""

    duration: float = _DEFAULT_DURATION
    renew_deadline: float = 10.0
    retry_period: float = 2.0


@dataclass(frozen=True, slots=True)
class SeenLease:
    """A Lease, and when its content was seen first, by the reader's monotonic clock."""

    document: JSON
    since: float

    @property
    def spec(self) -> JSON:
        """Its record; empty for a Lease that was made by hand."""
        return self.document.get("spec") or {}

    @property
    def holder(self) -> str:
        """Who leads, or has led until the Lease ran out; empty if the last leader has given it back."""
        return self.spec.get("holderIdentity") or ""

    @property
    def expires(self) -> float:
        """When others may take it. The duration is that of its holder, whose settings may be others than ours; none at
        all, or nonsense, is read as the default, for the holder may be in the middle of its work."""
        return self.since + self.duration

    @property
    def duration(self) -> float:
        """Seconds, see `expires`."""
        seconds = self.spec.get("leaseDurationSeconds")
        is_duration = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0
        return seconds if is_duration else _DEFAULT_DURATION

    @property
    def is_given_back(self) -> bool:
        """Has its last holder written that it leads no more? If only the holder is empty, another has written that."""
        return not self.holder and self.duration == _RELEASED_DURATION

    def is_free(self, now: float) -> bool:
        """May any candidate take it?"""
        return not self.holder or self.expires <= now

    @property
    def caution(self) -> float:
        """Seconds in which its holder may go on that does not know yet that another has deleted or emptied it. It may
        have renewed it just before. A duration that no manager has does not count."""
        return min(self.duration, _LONGEST_DURATION)

    def seen_again(self, document: JSON, now: float) -> Self:
        """The Lease as it is now: one whose record is the same runs out as before."""
        same = (document.get("spec") or {}) == self.spec
        return type(self)(document, self.since if same else now)


def claimed(seen: SeenLease | None, lock: LeaseLock, timing: LeaseTimes, epoch_seconds: float) -> JSON:
    """The Lease with us as its holder, to be created if it does not exist, or else to replace the one that was seen:
    its resourceVersion makes the write fail if another was quicker."""
    now = micro_time(epoch_seconds)
    record = {
        "holderIdentity": lock.identity,
        "leaseDurationSeconds": math.ceil(timing.duration),
        "acquireTime": now,
        "renewTime": now,
        "leaseTransitions": 0,
    }
    if seen is None:
        metadata = {"namespace": lock.namespace, "name": lock.name}
        return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": record}
    transitions = _count_transitions(seen)
    if seen.holder == lock.identity:
        record |= {"acquireTime": seen.spec.get("acquireTime") or now, "leaseTransitions": transitions}
    else:
        record |= {"leaseTransitions": min(transitions + 1, _MOST_TRANSITIONS)}
    return seen.document | {"spec": seen.spec | record}


def _count_transitions(seen: SeenLease) -> int:
    transitions = seen.spec.get("leaseTransitions")
    return transitions if isinstance(transitions, int) and not isinstance(transitions, bool) else 0


def released(seen: SeenLease, epoch_seconds: float) -> JSON:
    """The Lease given back: the next candidate that looks at it leads."""
    now = micro_time(epoch_seconds)
    record = {"holderIdentity": "", "leaseDurationSeconds": _RELEASED_DURATION, "acquireTime": now, "renewTime": now}
    return seen.document | {"spec": seen.spec | record}


def reserved(seen: SeenLease, seconds: float, epoch_seconds: float) -> JSON:
    """The Lease left to its holder for so many seconds, in which no candidate takes it."""
    record = {"leaseDurationSeconds": math.ceil(seconds), "renewTime": micro_time(epoch_seconds)}
    return seen.document | {"spec": seen.spec | record}
