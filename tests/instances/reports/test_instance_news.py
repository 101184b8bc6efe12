"""Which Events the states of an instance become, one after the other. Level: pure."""

from dataclasses import replace

import pytest

from hookrunner.addons.status_conditions import make_status
from hookrunner.convergence.events import Notices
from hookrunner.instances.reports.reported_instances import ReportedInstances
from hookrunner.metrics.names import Metrics
from hookrunner.model.addon_status import REASONS, AddonObstacle, AddonPhase, Installed, InstanceFacts, ObjectReport
from hookrunner.releases.health.pod_findings import PodObstacle, with_pod
from kubetypes.json_values import JSON
from tests.instances.samples import instance

GOOD, BAD = ObjectReport("Service a/b", "Current"), ObjectReport("Deployment a/b", "InProgress")
BROKEN = ObjectReport("Deployment a/b", "Failed", "no such image")
NEW = InstanceFacts(1, obstacle=AddonObstacle(AddonPhase.APPLYING, "Applying", "its run has not ended yet"))
ROLLOUT = InstanceFacts(1, installed=Installed("1.2.0", "sha256:x", "dns.default.x", 1, "", "stable"), objects=[BAD])
PULLS, BACKS_OFF = (
    replace(
        ROLLOUT,
        objects=[GOOD, ObjectReport("Deployment a/b", "InProgress", with_pod("0 of 1 replicas are available", pod))],
    )
    for pod in (
        PodObstacle("Pod b-1: container c: ErrImagePull: not found", is_fatal=False),
        PodObstacle("Pod b-2: container c: ImagePullBackOff: Back-off", is_fatal=False),
    )
)
WORKS = replace(ROLLOUT, objects=[GOOD])
APPLIED = ("Applied", "version 1.2.0 of the channel stable is applied, revision 1")
HEALTHY = ("Healthy", "version 1.2.0 is installed and works")


def obstructed(phase: AddonPhase, reason: str, message: str = "no") -> InstanceFacts:
    return replace(WORKS, obstacle=AddonObstacle(phase, reason, message))


async def heard(*states: InstanceFacts, status: JSON = None) -> list[tuple[str, str]]:
    """Reasons and messages of the Events of an instance that has these states in turn."""
    notices = Notices()
    reported = ReportedInstances(notices, Metrics(), lambda: 0.0)
    about = instance(status=status)
    for facts in states:
        reported.take_in(about, facts)
    notices.end("dns.default.x")
    return [(notice.reason, notice.message) for notice in await notices.next_batch()]


async def test_install_is_told_when_it_is_applied_and_when_it_works() -> None:
    assert await heard(NEW, ROLLOUT, WORKS) == [APPLIED, HEALTHY]


async def test_an_image_that_cannot_be_pulled_is_told_once_before_the_installation_times_out() -> None:
    """The kubelet's words alternate, and each look at the Pods may find another one."""
    told = "Deployment a/b: 0 of 1 replicas are available; Pod b-1: container c: ErrImagePull: not found"
    again = replace(PULLS, obstacle=NEW.obstacle)
    assert await heard(NEW, ROLLOUT, PULLS, again, BACKS_OFF, ROLLOUT, PULLS, WORKS) == [
        APPLIED,
        ("Unhealthy", told),
        HEALTHY,
    ]
    assert await heard(WORKS, PULLS, BACKS_OFF) == [APPLIED, HEALTHY, ("Unhealthy", told)]


async def test_an_image_that_cannot_be_pulled_is_told_for_each_revision_and_not_by_a_restart() -> None:
    second = replace(BACKS_OFF, installed=Installed("1.3.0", "sha256:x", "dns.default.x", 2, "", "stable"))
    assert [reason for reason, _ in await heard(PULLS, second)] == ["Applied", "Unhealthy", "Applied", "Unhealthy"]
    assert await heard(BACKS_OFF, status=make_status(PULLS, None, "2026-07-01T12:00:00Z")) == []


async def test_run_that_changes_nothing_is_no_news() -> None:
    assert await heard(WORKS, replace(WORKS, obstacle=NEW.obstacle), WORKS) == [APPLIED, HEALTHY]


async def test_restart_tells_nothing_that_the_status_says() -> None:
    assert await heard(WORKS, status=make_status(WORKS, None, "2026-07-01T12:00:00Z")) == []


async def test_restart_tells_what_happened_meanwhile() -> None:
    status = make_status(WORKS, None, "2026-07-01T12:00:00Z")
    assert await heard(ROLLOUT, status=status) == [("Unhealthy", "Deployment a/b: InProgress")]


@pytest.mark.parametrize("status", [{"phase": "Odd", "conditions": [1]}, {"healthy": True}])
async def test_status_of_someone_else_is_no_hindrance(status: JSON) -> None:
    assert await heard(WORKS, status=status) == [APPLIED, HEALTHY]


async def test_rollback_is_said_to_be_one_and_names_no_channel() -> None:
    earlier = Installed("1.1.0", "", "dns.default.x", 3, "", "stable")
    undone = replace(WORKS, installed=earlier, rolled_back="the change failed")
    pinned = replace(WORKS, installed=replace(earlier, pinned=True))
    text = "version 1.1.0 is applied again by a rollback, revision 3"
    for restored in (pinned, undone):
        assert ("Applied", text) in await heard(WORKS, restored)


async def test_only_what_had_worked_becomes_unhealthy() -> None:
    assert await heard(ROLLOUT, WORKS, ROLLOUT, WORKS) == [
        APPLIED,
        HEALTHY,
        ("Unhealthy", "Deployment a/b: InProgress"),
        HEALTHY,
    ]


async def test_failed_object_is_named() -> None:
    failed = replace(ROLLOUT, objects=[BROKEN])
    assert await heard(ROLLOUT, failed) == [APPLIED, ("Failed", "Deployment a/b: no such image")]


ERRORS = [
    (phase, reason)
    for phase, reasons in REASONS.items()
    for reason in reasons
    if phase.value.endswith(("Error", "Failed", "Mismatch", "Conflict")) or reason == "ApplyFailed"
]


@pytest.mark.parametrize(("phase", "reason"), ERRORS)
async def test_error_is_told_once_and_again_with_another_message(phase: AddonPhase, reason: str) -> None:
    error, other = obstructed(phase, reason), obstructed(phase, reason, "still not")
    word = reason if reason == "ApplyFailed" else phase.value
    told = await heard(WORKS, error, replace(WORKS, obstacle=NEW.obstacle), error, other)
    assert told == [APPLIED, HEALTHY, (word, "no"), (word, "still not")]


async def test_closed_gate_is_no_warning() -> None:
    notices = Notices()
    ReportedInstances(notices, Metrics(), lambda: 0.0).take_in(
        instance(), obstructed(AddonPhase.PENDING, "Waiting", "waits")
    )
    _, waiting = await notices.next_batch()
    assert (waiting.reason, waiting.message, waiting.bad) == ("Waiting", "waits", False)


async def test_newer_version_is_told_once() -> None:
    offered = replace(WORKS, available_version="1.3.0")
    news = ("UpdateAvailable", "version 1.3.0 is available; 1.2.0 is installed")
    assert await heard(WORKS, offered, replace(offered, generation=2)) == [APPLIED, HEALTHY, news]


async def test_patch_that_is_left_out_is_told() -> None:
    lenient = replace(WORKS, unmatched_patches=("no Deployment is called y",))
    news = ("PatchFailed", "a patch is left out: no Deployment is called y")
    assert await heard(lenient) == [APPLIED, news, HEALTHY]


async def test_fields_that_the_server_ignores_are_told_once_also_after_a_restart() -> None:
    misspelt = replace(WORKS, unknown_fields=("default/ConfigMap/a: .datta (did you mean 'data'?)",))
    text = "the API server ignores fields that it does not know: default/ConfigMap/a: .datta (did you mean 'data'?)"
    assert await heard(misspelt, misspelt) == [APPLIED, ("UnknownFields", text), HEALTHY]
    assert await heard(misspelt, status=make_status(misspelt, None, "2026-07-01T12:00:00Z")) == []


async def test_object_that_is_created_again_begins_anew() -> None:
    notices = Notices()
    reported = ReportedInstances(notices, Metrics(), lambda: 0.0)
    for about in (instance(), instance(uid="u-2")):
        reported.take_in(about, WORKS)
    assert [notice.reason for notice in await notices.next_batch()] == ["Applied", "Healthy"] * 2
