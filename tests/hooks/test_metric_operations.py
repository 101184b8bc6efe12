"""Metrics files as operations, or as every problem in them: what tests/contract/metrics.golden does not show. What
becomes of metrics is tested in tests/metrics.

Level: pure."""

from typing import Any

import orjson
import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks.metric_operations import parse
from hookrunner.model.operations import MetricAction, MetricOperation
from tests.tables import each


@pytest.mark.slow
def test_problems_and_warnings_of_a_file_are_bounded(capfd: pytest.CaptureFixture[str]) -> None:
    """Labels may be made of what others wrote."""
    labels = orjson.dumps({"name": "a", "set": 1, "labels": dict.fromkeys(map(str, range(50_000)), 1)})
    with pytest.raises(BadOutput, match=r"labels\.. must be of type string.*; there are more$") as refused:
        parse(labels)
    assert len(str(refused.value)) < 5000
    assert parse(b'{"name": "a", "action": "b"}' * 50_000) == ()
    warnings = capfd.readouterr().err.splitlines()
    assert (len(warnings), "operations=49980" in warnings[-1]) == (21, True)


@pytest.mark.parametrize("document", [{"name": "a", "action": "sett", "value": 1}, {"name": "a"}, {}, None])
def test_an_unknown_action_is_dropped_with_a_warning(document: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert parse(orjson.dumps(document) + b'{"name":"b","set":1}') == (MetricOperation(MetricAction.SET, "b", 1.0),)
    warning = capfd.readouterr().err
    assert "metric operation is dropped: unknown action" in warning
    assert "did you mean 'set'?" in warning or "use one of add, set, observe, expire" in warning


@each(
    ("document", "reason"),
    [
        ({"name": "", "action": "add", "value": 1}, "name is required for add"),
        ({"name": "a", "add": 1, "set": 1, "action": "add"}, "value is required for add"),
        ({"name": "a", "action": "observe", "buckets": []}, "value is required for observe"),
        ({"name": "a", "action": "observe", "value": 1, "buckets": None}, "buckets is required for observe"),
        ({"name": "a", "set": True}, 'must be of type number: "boolean"'),
        ({"name": "a", "action": "observe", "value": 1, "buckets": ["1"]}, "buckets[0] must be of type number"),
    ],
)
def test_a_bad_document_fails_the_run(document: Any, reason: str) -> None:
    with pytest.raises(BadOutput) as error:
        parse(b'{"name":"b","set":1}\n' + orjson.dumps(document))
    assert str(error.value).startswith("got bad metrics: document 2: ")
    assert reason in str(error.value)


def test_only_json_is_read() -> None:
    with pytest.raises(BadOutput, match=r"^got bad metrics: document 1: not JSON: "):
        parse(b'{"name":"a","set":NaN}')
