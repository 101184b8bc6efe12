"""Revisions by the labels of their records, and the cache of them. Level: pure."""

from typing import Any

from hookrunner.model.bindings import Change
from hookrunner.model.releases import Head
from hookrunner.releases.records.record import (
    CHECKSUM,
    DIGEST,
    NOTE,
    UNMANAGED,
    ReleaseRevision,
    release_labels,
    revision_of,
)
from hookrunner.releases.records.record_storage import RevisionCache
from tests.tables import each


def revision(number: int, status: str = "deployed", version: int = 0, **labels: str) -> ReleaseRevision:
    return ReleaseRevision("a", "ns", number, status, labels, version or number)


@each(
    ("labels", "expected"),
    [
        ({}, {}),
        ({DIGEST: "d1.v2"}, {"digest": "d1", "owned": True}),
        ({DIGEST: "d1.v1", NOTE: "pinned"}, {"owned": True}),
        ({DIGEST: "nonsense"}, {"owned": True}),
        ({CHECKSUM: "c"}, {"owned": True}),
        ({DIGEST: "d1.v2", NOTE: "rolled-back"}, {"digest": "d1", "owned": True, "note": "rolled-back"}),
        ({UNMANAGED: "true"}, {"unmanaged": True}),
        ({UNMANAGED: "false"}, {}),
    ],
)
def test_head_is_read_from_labels(labels: dict[str, str], expected: dict[str, Any]) -> None:
    assert ReleaseRevision("a", "ns", 2, "deployed", labels).head == Head("a", "ns", 2, "deployed", **expected)


@each("note", ["", "pinned"])
@each("unmanaged", [True, False])
def test_a_head_is_read_as_it_was_written(note: str, unmanaged: bool) -> None:
    head = Head("a", "ns", 7, "deployed", "d1", True, unmanaged, note)
    assert ReleaseRevision("a", "ns", 7, "deployed", release_labels(head, "c")).head == head


@each("labels", [None, {}, {"name": "a"}, {"name": "a", "version": "x"}, {"version": "1"}])
def test_object_without_record_labels_is_no_revision(labels: dict[str, str] | None) -> None:
    assert revision_of({"name": "n", "namespace": "ns", "labels": labels}) is None


def test_labels_of_helm_are_not_ours_to_copy() -> None:
    labels = {"name": "a", "owner": "helm", "status": "failed", "version": "3", "modifiedAt": "1", "mine": "yes"}
    found = revision_of({"namespace": "ns", "labels": labels, "resourceVersion": "12"})
    assert found == ReleaseRevision("a", "ns", 3, "failed", {"mine": "yes"}, 12)


def known(*revisions: ReleaseRevision) -> RevisionCache:
    ledger = RevisionCache()
    for one in revisions:
        ledger.keep(one)
    return ledger


def test_the_latest_revision_is_the_head() -> None:
    ledger = known(revision(10), revision(9, "superseded"))
    assert [found.number for found in ledger.history("a")] == [9, 10]
    assert ledger.heads() == {"a": revision(10).head}


@each(
    ("change", "heard", "reported"),
    [
        (Change.ADDED, revision(2, version=5), True),
        (Change.MODIFIED, revision(1, "failed", 5), True),
        (Change.DELETED, revision(1, version=5), True),
        (None, revision(1, version=1), False),
        (Change.MODIFIED, revision(1, "failed", version=1), False),
        (Change.ADDED, revision(2, "pending-upgrade", 5), False),
        (Change.MODIFIED, revision(1, "uninstalling", 5), False),
        (Change.MODIFIED, revision(1, version=5, other="label"), False),
    ],
)
def test_changes_of_others_to_the_head_are_reported(
    change: Change | None, heard: ReleaseRevision, reported: bool
) -> None:
    assert known(revision(1, version=1)).observe(change, heard) is reported


def test_old_watch_events_do_not_undo_newer_writes() -> None:
    ledger = known()
    ledger.keep(revision(1, version=9))
    assert not ledger.observe(Change.ADDED, revision(1, "pending-install", 7))
    assert ledger.heads()["a"].status == "deployed"


def test_a_record_that_we_removed_does_not_come_back() -> None:
    ledger = known(revision(1, version=9))
    ledger.remove("a", 1)
    assert not ledger.observe(Change.MODIFIED, revision(1, version=9))
    assert not ledger.observe(Change.DELETED, revision(1, version=10))
    assert ledger.heads() == {}


def test_rewritten_record_survives_an_old_deletion_event() -> None:
    ledger = known(revision(1, version=9))
    ledger.remove("a", 1)
    ledger.keep(revision(1, version=12))
    assert not ledger.observe(Change.DELETED, revision(1, version=10))
    assert "a" in ledger.heads()


def test_rollback_by_helm_is_reported_once_when_it_ends() -> None:
    ledger = known(revision(1, "superseded", 1), revision(2, version=2))
    told = [ledger.observe(Change.ADDED, revision(3, "pending-rollback", 3))]
    told += [ledger.observe(Change.MODIFIED, revision(2, "superseded", 4))]
    told += [ledger.observe(Change.MODIFIED, revision(3, "deployed", 5))]
    assert told == [False, False, True]


def test_relist_removes_deleted_revisions_but_not_newer_ones() -> None:
    ledger = known(
        ReleaseRevision("gone", "ns", 1, "deployed", {}, 3), revision(1, "superseded", 4), revision(2, version=9)
    )
    assert ledger.replace([revision(1, version=2), ReleaseRevision("new", "ns", 1, "deployed", {}, 5)], 7) == {
        "gone",
        "new",
    }
    assert {name: head.revision for name, head in ledger.heads().items()} == {"a": 2, "new": 1}
