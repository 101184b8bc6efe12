"""What to do with the revisions of a release, from their labels alone. Pure functions.

leftovers(history)              # revisions that another process has left unfinished
surplus(history, keep=10)       # revisions to delete
find_earlier(history, name, 3)  # the revision to go back to
"""

from collections.abc import Sequence

from hookrunner.errors import ReleaseFailed
from hookrunner.releases.records.record import (
    PENDING,
    ReleaseRecord,
    ReleaseRevision,
    RevisionStatus,
    live_revisions,
)

_UNFINISHED = frozenset({RevisionStatus.DEPLOYED, RevisionStatus.UNINSTALLING, *PENDING})


def leftovers(history: Sequence[ReleaseRevision]) -> list[ReleaseRevision]:
    """Revisions before a deployed head whose records say that they are deployed, pending or uninstalling."""
    deployed = history and history[-1].status == RevisionStatus.DEPLOYED
    return unfinished(history, history[-1].number) if deployed else []


def unfinished(history: Sequence[ReleaseRevision], head: int) -> list[ReleaseRevision]:
    """Older revisions still marked deployed, pending or uninstalling although a later one is deployed."""
    return [revision for revision in history if revision.number < head and revision.status in _UNFINISHED]


def corrected(record: ReleaseRecord) -> ReleaseRecord:
    """The corrected record of a leftover."""
    if record.status == RevisionStatus.DEPLOYED:
        return record.with_status(RevisionStatus.SUPERSEDED, record.document["info"].get("description", ""))
    return record.with_status(RevisionStatus.FAILED, f"Interrupted while {record.status}")


def surplus(history: Sequence[ReleaseRevision], keep: int, needed: int = 0) -> list[ReleaseRevision]:
    """The revisions to delete if `keep` (0 is all) should stay: the oldest, but never the last deployed, the head nor
    the one of number `needed`."""
    kept = {needed, *(revision.number for revision in (*live_revisions(history)[:1], *history[-1:]))}
    spare = [revision for revision in history if revision.number not in kept]
    return spare[: max(0, len(history) - keep)] if keep else []


def find_earlier(history: Sequence[ReleaseRevision], name: str, number: int | None) -> ReleaseRevision:
    """The revision of a number, or the last one before the head that was deployed. Raises ReleaseFailed."""
    deployed = (RevisionStatus.DEPLOYED, RevisionStatus.SUPERSEDED)
    for revision in reversed(history):
        if revision.number == number or (number is None and revision in history[:-1] and revision.status in deployed):
            return revision
    existing = ", ".join(f"{revision.number} ({revision.status})" for revision in history) or "none"
    desired = f"revision {number}" if number else "earlier revision that was deployed"
    raise ReleaseFailed(f"release {name} has no {desired}; it has: {existing}")
