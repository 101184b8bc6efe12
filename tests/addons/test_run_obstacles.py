"""Errors of a run, as the status says them."""

from hookrunner.addons.run_obstacles import obstacle_of
from hookrunner.errors import (
    BadChart,
    BadOutput,
    BadPatch,
    BadValues,
    Denied,
    HookFailed,
    PackageError,
    PatchFailed,
    ReleaseFailed,
    RenderFailed,
    Unreachable,
)
from tests.tables import each


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
