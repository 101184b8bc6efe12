"""Decisions about a Lease, as tables. Level: pure."""

from typing import Any

from hookrunner.controllers.lease import LeaseTimes, SeenLease, claimed, released
from tests.controllers.lease_server import lock
from tests.tables import each

JSON = Any
EPOCH = 1_790_000_000.25
NOW = "2026-09-21T14:13:20.250000Z"


def lease(**spec: Any) -> JSON:
    return {"metadata": {"name": "cloud-controller-manager", "resourceVersion": "7"}, "spec": spec}


@each(
    ("document", "at", "is_free"),
    [
        (lease(holderIdentity="b", leaseDurationSeconds=15), 14.9, False),
        (lease(holderIdentity="b", leaseDurationSeconds=15), 15, True),
        (lease(holderIdentity="b", leaseDurationSeconds=60), 15, False),
        (lease(holderIdentity="", leaseDurationSeconds=60), 0, True),
        (lease(holderIdentity="b"), 14.9, False),
        (lease(), 0, True),
        ({"metadata": {"name": "made-by-hand"}}, 0, True),
    ],
)
def test_lease_is_free_when_it_was_given_back_or_has_run_out(document: JSON, at: float, is_free: bool) -> None:
    assert SeenLease(document, 0.0).is_free(at) is is_free


def test_lease_runs_out_after_its_content_was_seen_first() -> None:
    seen = SeenLease(lease(holderIdentity="b", renewTime="1"), 0.0)
    assert seen.seen_again(lease(holderIdentity="b", renewTime="1"), 10.0).since == 0.0
    assert seen.seen_again(lease(holderIdentity="b", renewTime="2"), 10.0).since == 10.0


@each(
    ("seen", "record"),
    [
        (None, {"acquireTime": NOW, "leaseTransitions": 0}),
        (lease(holderIdentity="b", leaseTransitions=4), {"acquireTime": NOW, "leaseTransitions": 5}),
        (lease(holderIdentity="", leaseTransitions=4), {"acquireTime": NOW, "leaseTransitions": 5}),
        (lease(holderIdentity="a", acquireTime="t", leaseTransitions=4), {"acquireTime": "t", "leaseTransitions": 4}),
        ({"metadata": {"name": "made-by-hand"}}, {"acquireTime": NOW, "leaseTransitions": 1}),
    ],
)
def test_claim_counts_changes_of_the_holder(seen: JSON, record: JSON) -> None:
    document = claimed(SeenLease(seen, 0.0) if seen else None, lock("a"), LeaseTimes(), EPOCH)
    assert document["spec"] == {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": NOW} | record


def test_claim_and_release_leave_what_others_have_written() -> None:
    theirs = lease(holderIdentity="a", strategy="OldestEmulationVersion", leaseTransitions=4)
    seen = SeenLease(theirs, 0.0)
    for document in (claimed(seen, lock("a"), LeaseTimes(), EPOCH), released(seen, EPOCH)):
        assert document["metadata"] == theirs["metadata"]
        assert document["spec"]["strategy"] == "OldestEmulationVersion"
        assert document["spec"]["leaseTransitions"] == 4
