"""What the health of objects adds to the facts of a status."""

from dataclasses import replace
from datetime import UTC, datetime

from hookrunner.instances.status_reports import with_health
from hookrunner.model.addon_status import Installed, InstanceFacts, LastHealthy, ObjectReport

FACTS = InstanceFacts(1, installed=Installed("1.2.0", "sha256:x", "dns.default.x", 3, "2026-07-01T12:00:00Z"))
GOOD, BAD = ObjectReport("Service a/b", "Current"), ObjectReport("Deployment a/b", "InProgress")
BEFORE = LastHealthy("1.1.0", 2, "2026-06-01T12:00:00Z")


def test_revision_whose_objects_are_all_current_becomes_the_last_healthy_one_once() -> None:
    facts = with_health(FACTS, [GOOD], 0.0)
    assert facts.last_healthy == LastHealthy("1.2.0", 3, "1970-01-01T00:00:00Z")
    assert with_health(facts, [GOOD], 60.0).last_healthy == facts.last_healthy


def test_job_that_has_not_ended_proves_nothing_before_the_timeout() -> None:
    facts = replace(FACTS, last_healthy=BEFORE)
    job, began = ObjectReport("Job a/b", "Current", is_running=True), datetime(2026, 7, 1, 12, tzinfo=UTC).timestamp()
    revisions = [with_health(facts, [GOOD, job], began + passed).last_healthy for passed in (599, 600)]
    assert [healthy and healthy.revision for healthy in revisions] == [2, 3]


def test_unready_or_unknown_objects_leave_the_last_healthy_revision() -> None:
    facts = InstanceFacts(1, installed=FACTS.installed, last_healthy=BEFORE)
    assert [with_health(facts, objects, 0.0).last_healthy for objects in ([GOOD, BAD], None)] == [BEFORE, BEFORE]
