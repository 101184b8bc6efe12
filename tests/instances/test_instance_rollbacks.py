"""When an instance goes back to the version that worked last, in virtual time. Level: pure."""

from dataclasses import replace
from typing import Any

import pytest

from hookrunner.instances.instance_rollbacks import GivenUp, deadline_of, failure_of, is_overdue, with_verdict
from hookrunner.model.addon_status import (
    AddonObstacle,
    AddonPhase,
    Installed,
    InstanceFacts,
    LastHealthy,
    ObjectReport,
    ObjectStatusWord,
)
from hookrunner.model.addons import CommonFields
from tests.instances.samples import instance

NOON = 1782907200.0
"""2026-07-01T12:00:00Z"""
FIELDS = CommonFields(timeout=60, rollback_on_failure=True)
SECOND = Installed("2.0.0", "", "dns.default.x", 2, "2026-07-01T12:00:00Z")
FIRST_HEALTHY = LastHealthy("1.0.0", 1, "2026-07-01T11:00:00Z")
GOOD, BAD = ObjectReport("Service a/b", "Current"), ObjectReport("Deployment a/b", "InProgress")


def facts(status: ObjectStatusWord = "InProgress", timed_out: bool = False) -> InstanceFacts:
    """An upgrade under way."""
    objects = (ObjectReport("ConfigMap default/a", "Current"), ObjectReport("Deployment default/b", status))
    return InstanceFacts(1, FIELDS, installed=SECOND, last_healthy=FIRST_HEALTHY, objects=objects, timed_out=timed_out)


def test_timeout_counts_from_the_start_of_the_rollout() -> None:
    assert deadline_of(facts()) == NOON + 60
    assert [is_overdue(facts(), NOON + seconds) for seconds in (59, 60)] == [False, True]


def test_revision_that_was_healthy_once_is_never_too_late() -> None:
    healthy = replace(facts(), last_healthy=LastHealthy("2.0.0", 2, "2026-07-01T12:00:30Z"))
    assert deadline_of(healthy) is None
    assert not is_overdue(healthy, NOON + 1000)
    assert failure_of(replace(healthy, objects=facts("Failed").objects)) == ""


def test_nothing_is_late_before_anything_is_installed() -> None:
    assert deadline_of(replace(facts(), installed=None)) is None


def test_failed_object_fails_an_upgrade_at_once() -> None:
    assert failure_of(facts("Failed")) == "Deployment default/b: Failed"


def test_late_object_fails_an_upgrade() -> None:
    assert failure_of(facts()) == ""
    assert failure_of(facts(timed_out=True)) == "not all objects are ready after 60 s: Deployment default/b: InProgress"
    assert failure_of(facts("Current", timed_out=True)) == ""


@pytest.mark.parametrize(
    "other",
    [
        {"fields": replace(FIELDS, rollback_on_failure=False)},
        {"last_healthy": None},
        {"last_healthy": LastHealthy("9.0.0", 9, "2026-07-01T11:00:00Z")},
        {"installed": None},
        {"obstacle": AddonObstacle(AddonPhase.SUSPENDED, "Suspended", "suspended")},
        {"rolled_back": "it failed before"},
    ],
    ids=["not asked for", "first install", "another history", "nothing", "suspended", "restored already"],
)
def test_failure_is_kept_for_inspection(other: dict[str, Any]) -> None:
    assert failure_of(replace(facts("Failed"), **other)) == ""


def test_another_attempt_is_made_when_a_user_asks_for_it() -> None:
    before = instance(spec={"timeout": "1m"})
    same = instance(spec={"timeout": "1m"}, labels={"a": "b"}, generation=7)
    others = [
        instance(spec={"timeout": "2m"}),
        instance(spec={"timeout": "1m"}, annotations={"hookrunner.io/reconcile": "again"}),
    ]
    assert before.asked == same.asked
    assert [other for other in others if other.asked == before.asked] == []


def test_revision_is_given_up_once() -> None:
    given_up = GivenUp()
    assert [given_up.note(2, "late"), given_up.note(2, "later"), given_up.note(4, "late")] == [True, False, True]


def test_revision_whose_objects_are_all_current_becomes_the_last_healthy_one_once() -> None:
    proven = with_verdict(replace(facts(), objects=(GOOD,)), 0.0)
    assert proven.last_healthy == LastHealthy("2.0.0", 2, "1970-01-01T00:00:00Z")
    assert with_verdict(replace(proven, objects=(GOOD,)), 60.0).last_healthy == proven.last_healthy


def test_job_that_has_not_ended_proves_nothing_before_the_timeout() -> None:
    job = ObjectReport("Job a/b", "Current", is_running=True)
    seen = replace(facts(), objects=(GOOD, job))
    revisions = [with_verdict(seen, NOON + passed).last_healthy for passed in (59, 60)]
    assert [healthy and healthy.revision for healthy in revisions] == [1, 2]


def test_unready_or_unknown_objects_leave_the_last_healthy_revision() -> None:
    judged = [with_verdict(replace(facts(), objects=objects), 0.0) for objects in ((GOOD, BAD), None)]
    assert [each.last_healthy for each in judged] == [FIRST_HEALTHY, FIRST_HEALTHY]
