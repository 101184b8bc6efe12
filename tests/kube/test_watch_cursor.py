"""Lines of a watch as reports."""

from hookrunner.kube.informer import WatchCursor


def _event(levels: int) -> bytes:
    spec = b'{"a":' * levels + b"1" + b"}" * levels
    return b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"},"spec":%b}}' % spec


def test_an_object_that_is_nested_too_deep_is_named_as_the_cause() -> None:
    """Not as a connection that broke, which would be looked for in vain."""
    reports, error = WatchCursor().read_lines("Box", [_event(2000)])
    assert reports == []
    assert str(error) == "an object is nested deeper than can be read: depth limit exceeded, of 1,024 levels"


def test_half_an_event_means_a_broken_connection() -> None:
    assert "broke off" in str(WatchCursor().read_lines("Box", [_event(2)[:-9]])[1])
