"""A conversion that reads the snapshot of its own objects may wait indefinitely; one that does not is left alone.

Level: pure."""

from pathlib import Path

from hookrunner.engine import dispatch
from hookrunner.engine.reviews.conversion import find_cycle
from hookrunner.model.bindings import ConversionBinding, Hook, HookConfig, Kubernetes
from hookrunner.model.reviews import ConversionRequest, ConversionReview
from tests.tables import each

CRD = "crontabs.example.com"


def cycle_of(watched: Kubernetes, *snapshots: str) -> str:
    conversion = ConversionBinding("up", CRD, (("v1", "v2"),), snapshots=snapshots)
    hook = Hook("h", Path("/h"), HookConfig("v1", kubernetes=(watched,), conversions=(conversion,)))
    document = {"uid": "1", "desiredAPIVersion": "example.com/v2", "objects": [{"kind": "CronTab"}]}
    request = ConversionRequest.of(document)
    review = ConversionReview(CRD, "apiextensions.k8s.io/v1", request, 0.0)
    return find_cycle(hook, dispatch.for_conversion(hook, 0, None), review)


@each(("kind", "version"), [("CronTab", "example.com/v2"), ("crontabs", "example.com/v2"), ("crontab", "")])
def test_a_snapshot_of_the_desired_version_makes_a_cycle(kind: str, version: str) -> None:
    reason = cycle_of(Kubernetes("tabs", kind, version), "tabs")
    assert reason.startswith("it needs the snapshot of 'tabs', which lists its own objects in example.com/v2")


@each(
    ("kind", "version"),
    [("CronTab", "example.com/v1"), ("CronTab", "other.com/v2"), ("Pod", ""), ("Tea", "example.com/v2")],
)
def test_other_snapshots_do_not(kind: str, version: str) -> None:
    assert cycle_of(Kubernetes("tabs", kind, version), "tabs") == ""


def test_a_binding_that_is_not_included_does_not() -> None:
    assert cycle_of(Kubernetes("tabs", "CronTab", "example.com/v2")) == ""
