"""Lines of a watch as reports. Level: pure."""

from hookrunner.kube.watch_cursor import WatchCursor
from hookrunner.model.events import ObjectSeen


def _event(levels: int, name: str = "a") -> bytes:
    spec = b'{"a":' * levels + b"1" + b"}" * levels
    head = b'{"type":"ADDED","object":{"metadata":{"name":"%b","resourceVersion":"1"},"spec":%b}}'
    return head % (name.encode(), spec)


def test_an_object_that_is_nested_too_deep_hides_no_others() -> None:
    """Otherwise each user who may create one of a kind that keeps all fields could stop the watch of the kind."""
    reports, error = WatchCursor().read_lines("Box", [_event(2000), _event(1, "b")])
    assert error is None
    assert [report.key.name for report in reports if isinstance(report, ObjectSeen)] == ["a", "b"]


def test_half_an_event_means_a_broken_connection() -> None:
    for levels in (2, 2000):
        assert "broke off" in str(WatchCursor().read_lines("Box", [_event(levels)[:-9]])[1])
