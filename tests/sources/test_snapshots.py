"""What a dump of a snapshot counts. Level: pure."""

from hookrunner.model.contexts import Entry
from hookrunner.model.resources import ObjectKey
from hookrunner.sources.snapshots import Snapshot

KEY = ObjectKey("d", "Pod", "y")


def test_operations_since_the_last_run_count_objects_that_came_changed_and_went() -> None:
    snapshot = Snapshot()
    for text in (b"1", b"2", b"2"):
        snapshot.update(Entry(KEY, None, text, mark=text))
    snapshot.remove(KEY)
    operations = {"added": 1, "modified": 1, "deleted": 1, "cleaned": 1}
    assert snapshot.operations() == {
        "sinceStart": {"count": 0, **operations},
        "sinceLastExecution": {"count": 3, **operations},
    }
    snapshot.reset_run_counts()
    assert snapshot.operations()["sinceLastExecution"]["count"] == 0
