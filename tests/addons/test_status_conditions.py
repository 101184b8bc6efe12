"""Status: phase, errors and conditions of what is known, and the errors of a run in its words. Level: pure."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hookrunner.addons.status_conditions import (
    hook_conditions_before,
    make_status,
    obstacle_of,
    protection_before,
    unknown_fields_before,
)
from hookrunner.errors import (
    BadChart,
    BadOutput,
    BadPatch,
    BadValues,
    Denied,
    HookFailed,
    ObjectOwned,
    PackageError,
    PatchFailed,
    ReleaseFailed,
    RenderFailed,
    Unreachable,
)
from hookrunner.model.addon_status import (
    OWN_CONDITIONS,
    REASONS,
    AddonObstacle,
    AddonPhase,
    HookCondition,
    Installed,
    InstanceFacts,
    LastHealthy,
    ObjectReport,
    ProtectionState,
)
from hookrunner.model.addons import CommonFields
from kubetypes.json_values import JSON
from tests.tables import each

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
INSTALLED = Installed("1.14.6", "sha256:a", "coredns.kube-system.default", 3, THEN, "stable")
GOOD = (ObjectReport("Service a/b", "Current"), ObjectReport("Deployment a/b", "Current"))
FINE = InstanceFacts(2, installed=INSTALLED, objects=GOOD, last_healthy=LastHealthy("1.14.6", 3, THEN))
BAD_VERSION = AddonObstacle(AddonPhase.VERSION_MISMATCH, "NoVersion", "there is no version")
SUSPENDED = AddonObstacle(AddonPhase.SUSPENDED, "Suspended", "suspended")
FOREIGN = AddonObstacle(AddonPhase.CURRENT, "Current", "installed by something else")
CONFLICT = HookCondition("ConflictsWith", "True", "Cilium", "Cilium runs", False)


def failing(*statuses: str) -> list[ObjectReport]:
    return [ObjectReport(f"Pod {number}", status, status.lower()) for number, status in enumerate(statuses)]  # type: ignore[arg-type]


UNKNOWN, UNREADY, MISSING = failing("Unknown", "Current"), failing("InProgress", "Unknown"), failing("NotFound")


def status_of(**facts: Any) -> JSON:
    return make_status(replace(FINE, **facts), {}, NOW)


def conditions(status: JSON) -> dict[str, str]:
    return {entry["type"]: f"{entry['status']} {entry['reason']}" for entry in status["conditions"]}


def test_status_of_a_healthy_instance() -> None:
    condition = {"lastTransitionTime": NOW, "observedGeneration": 2, "status": "True"}
    assert make_status(FINE, {}, NOW) == {
        "healthy": True,
        "errors": [],
        "phase": "Current",
        "observedGeneration": 2,
        "version": "1.14.6",
        "channel": "stable",
        "digest": "sha256:a",
        "release": "coredns.kube-system.default",
        "revision": 3,
        "startedAt": THEN,
        "lastHealthy": {"version": "1.14.6", "revision": 3, "time": THEN},
        "objects": {"total": 2, "current": 2, "ready": "2/2"},
        "conditions": [
            condition | {"type": "Ready", "reason": "Current", "message": "version 1.14.6 is installed and works"},
            condition | {"type": "Available", "reason": "Available", "message": "version 1.14.6 works"},
        ],
    }


def test_pinned_revision_is_current_and_says_so() -> None:
    status = status_of(installed=replace(INSTALLED, pinned=True))
    assert (status["phase"], "brought back on request" in status["conditions"][0]["message"]) == ("Current", True)


def test_commit_of_the_package_is_shown_if_it_has_one() -> None:
    assert status_of(installed=replace(INSTALLED, commit="2fd4e1c"))["commit"] == "2fd4e1c"


@each(
    ("facts", "phase", "reason", "available", "progress"),
    [
        ({}, "Current", "Current", "True Available", ""),
        ({"installed": None, "objects": None}, "Applying", "Applying", "False NotInstalled", "Reconciling"),
        ({"objects": None}, "InProgress", "ObjectsNotReady", "Unknown ObjectsUnknown", "Reconciling"),
        ({"objects": UNKNOWN}, "InProgress", "ObjectsNotReady", "Unknown ObjectsUnknown", "Reconciling"),
        ({"objects": UNREADY}, "InProgress", "ObjectsNotReady", "False ObjectsNotReady", "Reconciling"),
        ({"objects": failing("InProgress", "Failed")}, "Failed", "ObjectsFailed", "False ObjectsFailed", "Stalled"),
        ({"objects": MISSING, "timed_out": True}, "Failed", "TimedOut", "False ObjectsNotReady", "Stalled"),
        ({"timed_out": True}, "Current", "Current", "True Available", ""),
        ({"obstacle": BAD_VERSION}, "VersionMismatch", "NoVersion", "True Available", "Stalled"),
        ({"rolled_back": "1.15.0 failed"}, "RolledBack", "RolledBack", "True Available", "Stalled"),
        ({"obstacle": SUSPENDED}, "Suspended", "Suspended", "True Available", ""),
    ],
)
def test_phase_and_conditions_follow_from_facts(
    facts: dict[str, Any], phase: str, reason: str, available: str, progress: str
) -> None:
    shown = {"Ready": f"{phase == 'Current'} {reason}", "Available": available}
    shown |= {progress: f"True {reason}"} if progress else {}
    status = status_of(**facts)
    assert (status["phase"], conditions(status)) == (phase, shown)


@each(
    ("facts", "phase", "shown"),
    [
        (
            {"hook_conditions": [CONFLICT]},
            "InProgress",
            {"Ready": "False HookReport", "Reconciling": "True HookReport", "ConflictsWith": "True Cilium"},
        ),
        (
            {"available_version": "1.15.0", "untested": "tested with <1.30"},
            "Current",
            {"UpdateAvailable": "True UpdateAvailable", "VersionSupported": "False Untested"},
        ),
        ({"unread_channel": "it does not exist"}, "Current", {"UpdateAvailable": "Unknown ChannelUnreadable"}),
        ({"leftovers": "rules of flannel"}, "Current", {"NodesClean": "Unknown Replaced"}),
        ({"obstacle": FOREIGN, "installed": None, "objects": None}, "Current", {}),
    ],
)
def test_what_else_is_known_has_a_condition_of_its_own(
    facts: dict[str, Any], phase: str, shown: dict[str, str]
) -> None:
    status = status_of(**facts)
    wanted = {"Ready": "True Current", "Available": "True Available"} | shown
    assert (status["phase"], conditions(status)) == (phase, wanted)


def test_ready_names_the_first_object_that_is_not() -> None:
    messages = [status_of(objects=objects)["conditions"][0]["message"] for objects in (UNREADY, None)]
    assert messages == ["Pod 0: inprogress (and 1 more)", "the objects have not been seen yet"]


@each(
    ("facts", "shown"),
    [
        ({}, "True Applied"),
        ({"obstacle": AddonObstacle(AddonPhase.PATCH_FAILED, "NoMatch", "fits nothing")}, "False NoMatch"),
        ({"unmatched_patches": ["fits nothing"]}, "False NoMatch"),
        ({"obstacle": BAD_VERSION}, "Unknown NotTried"),
    ],
)
def test_patches_have_a_condition(facts: dict[str, Any], shown: str) -> None:
    patched = CommonFields(patches=({"kind": "A"},))
    assert conditions(status_of(fields=patched, **facts))["PatchesApplied"] == shown


def test_unmatched_patches_that_are_only_reported_are_no_error() -> None:
    status = status_of(fields=CommonFields(patches=({},)), unmatched_patches=["fits nothing"])
    assert (status["healthy"], status["errors"]) == (True, [])


def test_errors_list_every_obstacle_the_most_serious_first() -> None:
    objects = failing("Unknown", "InProgress", "Failed")
    status = status_of(obstacle=BAD_VERSION, objects=objects, hook_conditions=[CONFLICT])
    assert status["errors"] == [
        "there is no version",
        "Pod 2: failed",
        "Pod 1: inprogress",
        "Pod 0: unknown",
        "ConflictsWith: Cilium runs",
    ]
    assert status["conditions"][0]["message"] == "there is no version (and 4 more)"
    assert status_of(objects=failing("Failed"))["errors"] == ["Pod 0: failed"]


def test_object_that_is_late_is_named_once() -> None:
    assert status_of(objects=failing("InProgress"), timed_out=True)["errors"] == [
        "not all objects are ready after 600 s: Pod 0: inprogress"
    ]


def test_long_errors_are_cut() -> None:
    status = status_of(objects=[ObjectReport(f"Pod {number}", "Failed", "x" * 10_000) for number in range(100)])
    assert (len(status["errors"]), status["errors"][-1]) == (51, "and 50 more")
    assert max(map(len, status["errors"])) == 2001
    assert len(status["conditions"][0]["message"]) <= 2001


def test_terminals_obey_nothing_that_hooks_and_objects_report() -> None:
    hostile = "\x1b[2J\x9b1A\u202e"
    report = HookCondition("Synced", "False", "Broken", f"hook {hostile}", healthy=False)
    status = status_of(objects=[ObjectReport("Pod a/b", "Failed", f"pod {hostile}")], hook_conditions=(report,))
    texts = [*status["errors"], *(condition["message"] for condition in status["conditions"])]
    assert [text for text in texts if any(code in text for code in "\x1b\x9b\u202e")] == []
    assert any(r"pod \x1b[2J\x9b1A\u202e" in text for text in texts)


def test_times_of_transitions_stay_while_the_status_of_a_condition_does() -> None:
    first = make_status(FINE, {}, THEN)
    assert make_status(FINE, first, NOW) == first
    worse = make_status(replace(FINE, obstacle=BAD_VERSION), first, NOW)
    times = {entry["type"]: entry["lastTransitionTime"] for entry in worse["conditions"]}
    assert times == {"Ready": NOW, "Available": THEN, "Stalled": NOW}


def test_hooks_cannot_report_our_conditions() -> None:
    reports = [HookCondition(kind, "True", "Wrong") for kind in OWN_CONDITIONS]
    status = status_of(hook_conditions=reports)
    assert conditions(status) == {"Ready": "True Current", "Available": "True Available"}


def test_next_process_reads_from_the_status_what_hooks_have_reported() -> None:
    reports = (
        HookCondition("ConflictsWith", "True", "Cilium", "Cilium runs", healthy=False, hook="hooks/conflicts.py"),
        HookCondition("Migrated", "False", "NotYet", hook="hooks/migrate.py"),
    )
    assert hook_conditions_before(status_of(hook_conditions=reports)) == reports
    assert hook_conditions_before({"hookReports": [{"type": "Gone"}, 5], "conditions": [5]}) == ()
    assert hook_conditions_before(None) == ()


@each("previous", [None, [], {"conditions": {}}, {"conditions": ["a", {}]}, {"conditions": [{"type": "Ready"}]}])
def test_a_status_of_someone_else_does_no_harm(previous: JSON) -> None:
    assert make_status(FINE, previous, NOW) == make_status(FINE, {}, NOW)


@given(
    st.one_of(
        st.none(),
        st.sampled_from(
            [AddonObstacle(phase, reason, "text") for phase, reasons in REASONS.items() for reason in reasons]
        ),
    ),
    st.lists(st.sampled_from(["Current", "Failed", "InProgress", "Unknown"]), max_size=3),
    st.booleans(),
    st.sampled_from(["", "text"]),
)
def test_healthy_is_current_is_ready_is_without_errors(
    obstacle: AddonObstacle | None, words: list[str], timed_out: bool, rolled_back: str
) -> None:
    if obstacle and obstacle.phase is AddonPhase.CURRENT:
        return
    status = status_of(obstacle=obstacle, objects=failing(*words), timed_out=timed_out, rolled_back=rolled_back)
    shown = conditions(status)
    signs = {status["healthy"], status["phase"] == "Current", shown["Ready"] == "True Current", not status["errors"]}
    assert len(signs) == 1
    assert {"Reconciling", "Stalled"} - shown.keys()


@each("phase", AddonPhase)
def test_every_phase_has_its_reasons(phase: AddonPhase) -> None:
    assert REASONS[phase]


@each(
    ("error", "phase", "reason", "progress"),
    [
        (PackageError("DigestChanged", "text"), "PackageError", "DigestChanged", "stalled"),
        (PackageError("Unreachable", "text"), "PackageError", "Unreachable", "reconciling"),
        (PackageError("NoVersion", "text"), "VersionMismatch", "NoVersion", "stalled"),
        (BadPatch("NoMatch", "text"), "PatchFailed", "NoMatch", "stalled"),
        (BadValues("coredns", ["text"]), "RenderFailed", "SpecInvalid", "stalled"),
        (HookFailed("text"), "RenderFailed", "HookFailed", "reconciling"),
        (BadOutput("text"), "RenderFailed", "HookFailed", "reconciling"),
        (PatchFailed("text"), "RenderFailed", "HookFailed", "reconciling"),
        (RenderFailed("text"), "RenderFailed", "RenderFailed", "reconciling"),
        (BadChart("text"), "RenderFailed", "RenderFailed", "reconciling"),
        (ObjectOwned("text"), "Conflict", "Owned", "stalled"),
        (ReleaseFailed("text"), "Applying", "ApplyFailed", "reconciling"),
        (Unreachable("text"), "Applying", "ApplyFailed", "reconciling"),
        (Denied(403, "Forbidden", "text"), "Applying", "ApplyFailed", "reconciling"),
    ],
)
def test_each_error_has_its_phase_and_reason(error: Exception, phase: str, reason: str, progress: str) -> None:
    obstacle = obstacle_of(error)
    assert (obstacle.phase.value, obstacle.reason, obstacle.progress) == (phase, reason, progress)
    assert "text" in obstacle.message


def test_an_object_that_a_patch_has_spoilt_is_a_failed_patch() -> None:
    error = ReleaseFailed("refused", invalid=["dns/Deployment/a"])
    assert obstacle_of(error, ["dns/Deployment/a"]).reason == "SchemaInvalid"
    assert obstacle_of(error, ["dns/Service/a"]).reason == "ApplyFailed"


def test_a_fault_of_ours_quotes_no_value() -> None:
    obstacle = obstacle_of(KeyError("secret"))
    assert (obstacle.phase.value, obstacle.progress) == ("InternalError", "stalled")
    assert obstacle.message.startswith("internal error: KeyError")
    assert "secret" not in obstacle.message


def test_fields_that_the_server_ignores_are_a_condition_that_a_restart_keeps() -> None:
    known = ("dns/Deployment/a: .spec.repicas (did you mean 'replicas'?)", "ClusterRole/b: .rule")
    status = status_of(unknown_fields=known)
    assert conditions(status)["FieldsKnown"] == "False UnknownFields"
    assert tuple(f"{name}: {text}" for name, text in unknown_fields_before(status).items()) == known
    assert unknown_fields_before({}) == {}


def test_protection_is_a_condition_that_a_restart_keeps() -> None:
    known = ProtectionState("False", "NotServed", "no such kind")
    status = status_of(protection=known)
    assert (conditions(status)["Protected"], status["phase"]) == ("False NotServed", "Current")
    assert protection_before(status) == known
    odd = {"conditions": [{"type": "Protected", "status": "perhaps"}]}
    assert protection_before({}) is protection_before(odd) is None


def test_hooks_cannot_report_a_condition_of_ours() -> None:
    """Each flag, text and list of the facts is set once, so that a new condition is among them."""
    texts = {name: "x" for name in ("available_version", "unread_channel", "untested", "rolled_back", "leftovers")}
    facts: list[dict[str, Any]] = [{name: text} for name, text in texts.items()]
    facts += [{"unknown_fields": ("a: .b",)}, {"timed_out": True}]
    facts += [{"protection": ProtectionState("True", "Enforced", "")}]
    facts += [{"fields": CommonFields(patches=({"target": {}},))}, {"obstacle": obstacle_of(ReleaseFailed("x"))}]
    shown = {type for each in facts for type in conditions(status_of(**each))}
    assert shown == OWN_CONDITIONS
