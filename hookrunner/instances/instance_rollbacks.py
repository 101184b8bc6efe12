"""Decides when an instance goes back to the version that worked last, and how long a rollout may take. Pure.

    timeout            counts from `startedAt` of the status, also when another process takes over; a revision that was
                       healthy once is never too late
    rollbackOnFailure  gives up an upgrade that is refused, has an object that failed, or is too late. A first
                       installation stays as it is, for its author to look at; an upgrade for which hookrunner lacks a
                       right waits for it

What was given up stands for the spec and the package that led to it: it is tried again when one of them, or the
annotation `hookrunner.io/reconcile`, changes (`Instance.asked`). See docs/addons.md#rollback.
"""

from dataclasses import replace
from datetime import datetime

from hookrunner.model.addon_status import InstanceFacts, LastHealthy
from hookrunner.model.timestamps import rfc3339
from kubetypes.light_dataclasses import dataclass


def deadline_of(facts: InstanceFacts) -> float | None:
    """When what is installed should be ready (epoch seconds); None if it was, or if nothing is installed."""
    installed, healthy = facts.installed, facts.last_healthy
    if installed is None or (healthy and healthy.revision == installed.revision):
        return None
    return datetime.fromisoformat(installed.started_at).timestamp() + facts.fields.timeout


def is_overdue(facts: InstanceFacts, now: float) -> bool:
    """Has the timeout passed (epoch seconds)? Whether anything is not ready is another question."""
    deadline = deadline_of(facts)
    return deadline is not None and deadline <= now


def with_verdict(facts: InstanceFacts, now: float) -> InstanceFacts:
    """The facts with what the health of the objects proves at a time (epoch seconds). A revision whose objects are all
    current becomes the last healthy one; with a Job that has not ended only when the timeout is over, since a Job that
    fails is a failed upgrade."""
    installed, healthy, objects = facts.installed, facts.last_healthy, facts.objects
    is_current = objects is not None and all(report.status == "Current" for report in objects)
    is_proven = is_current and (is_overdue(facts, now) or not any(report.is_running for report in objects or ()))
    if installed and is_proven and not (healthy and healthy.revision == installed.revision):
        facts = replace(facts, last_healthy=LastHealthy(installed.version, installed.revision, rfc3339(now)))
    return replace(facts, timed_out=is_overdue(facts, now))


def failure_of(facts: InstanceFacts) -> str:
    """Why what is installed should be rolled back, empty if it should not. `facts` know the health of the objects."""
    installed, healthy = facts.installed, facts.last_healthy
    if facts.obstacle or facts.rolled_back or not facts.fields.rollback_on_failure:
        return ""
    if not (installed and healthy and 0 < healthy.revision < installed.revision):
        return ""
    unready = [report for report in facts.objects or () if report.status != "Current"]
    if failed := [report for report in unready if report.status == "Failed"]:
        return str(failed[0])
    late = f"not all objects are ready after {facts.fields.timeout:g} s: "
    return f"{late}{unready[0]}" if unready and facts.timed_out else ""


@dataclass(slots=True)
class GivenUp:
    """The revision that an instance has given up, 0 for none, and why the last one was given up."""

    revision: int = 0
    reason: str = ""

    def note(self, revision: int, reason: str) -> bool:
        """This revision does not work. False if that is known already."""
        is_news = revision != self.revision
        self.revision, self.reason = revision, reason
        return is_news
