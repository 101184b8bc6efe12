"""What a release's history tells, without doing anything: is all as it should be, what did a dead process leave behind,
which records can go.

Nobody else writes the records of our releases while we are at work, so whatever is pending or being uninstalled when we
look was left by a process that has died: it is taken up again. (A `helm` that runs at the very same time would be
overtaken; so it would by another `helm`.)
"""

from collections.abc import Sequence

from hookrunner.errors import ReleaseFailed
from hookrunner.model.releases import Wanted
from hookrunner.releases.codec import PENDING, Record, Status
from hookrunner.releases.ledger import Revision

_UNFINISHED = frozenset({Status.DEPLOYED, Status.UNINSTALLING, *PENDING})


def fits(history: Sequence[Revision], wanted: Wanted) -> bool:
    """Is the head what is wanted? What is unmanaged, and stays so, is left alone whatever is wanted (§6.7)."""
    if not history or history[-1].status != Status.DEPLOYED:
        return False
    head, unmanaged = history[-1].head, wanted.terms.unmanaged
    return head.unmanaged == unmanaged and (unmanaged or head.digest == wanted.digest)


def needed(history: Sequence[Revision]) -> Sequence[Revision]:
    """Those whose objects may be in the cluster: from the last deployed one on. A `helm` that died between two writes
    leaves none; then the one that was superseded last was the last."""
    for status in (Status.DEPLOYED, Status.SUPERSEDED):
        for index in range(len(history) - 1, -1, -1):
            if history[index].status == status:
                return history[index:]
    return history


def leftovers(history: Sequence[Revision]) -> list[Revision]:
    """Revisions before a deployed head whose records say that they are deployed, or at work."""
    deployed = history and history[-1].status == Status.DEPLOYED
    return unfinished(history, history[-1].number) if deployed else []


def unfinished(history: Sequence[Revision], head: int) -> list[Revision]:
    """Revisions that are none of this when a later one is the head that is deployed."""
    return [revision for revision in history if revision.number < head and revision.status in _UNFINISHED]


def mended(record: Record) -> Record:
    """The record of a leftover as it should be."""
    if record.status == Status.DEPLOYED:
        return record.turned(Status.SUPERSEDED, record.document["info"].get("description", ""))
    return record.turned(Status.FAILED, f"Interrupted while {record.status}")


def surplus(history: Sequence[Revision], keep: int) -> list[Revision]:
    """What goes when `keep` revisions (0 is all) are to stay: the oldest, but never the last deployed nor the head."""
    kept = {revision.number for revision in (*needed(history)[:1], *history[-1:])}
    spare = [revision for revision in history if revision.number not in kept]
    return spare[: max(0, len(history) - keep)] if keep else []


def earlier(history: Sequence[Revision], name: str, number: int | None) -> Revision:
    """The revision of a number, or the last one before the head that was deployed. Raises ReleaseFailed."""
    deployed = (Status.DEPLOYED, Status.SUPERSEDED)
    for revision in reversed(history):
        if revision.number == number or (number is None and revision in history[:-1] and revision.status in deployed):
            return revision
    there = ", ".join(f"{revision.number} ({revision.status})" for revision in history) or "none"
    wanted = f"revision {number}" if number else "earlier revision that was deployed"
    raise ReleaseFailed(f"release {name} has no {wanted}; it has: {there}")
