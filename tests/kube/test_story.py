"""Lines of a watch as reports."""

from hookrunner.kube.story import Story


def _event(levels: int) -> bytes:
    spec = b'{"a":' * levels + b"1" + b"}" * levels
    return b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"},"spec":%b}}' % spec


def test_an_object_that_is_nested_too_deep_is_told_as_that() -> None:
    """Not as a connection that broke, which would be looked for in vain."""
    reports, error = Story().chunk("Box", [_event(2000)])
    assert reports == []
    assert str(error) == "an object is nested deeper than can be read: depth limit exceeded, of 1,024 levels"


def test_half_an_event_is_told_as_a_broken_connection() -> None:
    assert "broke off" in str(Story().chunk("Box", [_event(2)[:-9]])[1])
