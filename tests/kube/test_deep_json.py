"""JSON that is nested deeper than orjson reads. Level: pure."""

import orjson
import pytest

from hookrunner.kube import deep_json
from hookrunner.kube.deep_json import LEVELS
from kubetypes.json_values import JSON


def nested(levels: int, inside: JSON = 1) -> bytes:
    return b'{"a":[' * (levels // 2) + orjson.dumps(inside) + b"]}" * (levels // 2)


def depth(value: JSON) -> int:
    """How many maps and lists lie in one another along the first element of each."""
    levels = 0
    while isinstance(value, dict | list):
        levels, value = levels + 1, next(iter(value.values() if isinstance(value, dict) else value), None)
    return levels


def test_what_lies_too_deep_is_cut_off_and_nothing_else() -> None:
    text = b'{"before": "}[\\"{", "deep": [%b, {"x": [1]}], "after": {"y": []}}' % nested(4000)
    value = deep_json.parse(text)
    assert depth(value["deep"][0]) == LEVELS - 2
    assert (value["before"], value["deep"][1], value["after"]) == ('}["{', {"x": [1]}, {"y": []})


def test_value_that_was_cut_can_never_be_written_back() -> None:
    """A hook that changes one field of the object would lose the rest."""
    with pytest.raises(TypeError, match="Recursion limit"):
        orjson.dumps(deep_json.parse(nested(4000)))


def test_what_is_no_json_is_refused() -> None:
    for text in (b"", b"{", b"[" * 2000, nested(2000)[:-1]):
        with pytest.raises(orjson.JSONDecodeError):
            deep_json.parse(text)
