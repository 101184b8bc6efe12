"""Metrics files as operations, or as every problem in them. What becomes of metrics is tested in tests/metrics.

Level: pure."""

from typing import Any

import orjson
import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks.metric_operations import parse
from hookrunner.model.operations import MetricAction, MetricOperation
from tests.tables import each

ADD, SET, OBSERVE, EXPIRE = MetricAction.ADD, MetricAction.SET, MetricAction.OBSERVE, MetricAction.EXPIRE


@each(
    ("document", "operation"),
    [
        ({"name": "a", "action": "add", "value": 1}, MetricOperation(ADD, "a", 1.0)),
        ({"name": "a", "action": "set", "value": 0.5}, MetricOperation(SET, "a", 0.5)),
        ({"name": "a", "action": "set", "value": 0}, MetricOperation(SET, "a", 0.0)),
        ({"name": "a", "add": 2}, MetricOperation(ADD, "a", 2.0)),
        ({"name": "a", "set": -2.5}, MetricOperation(SET, "a", -2.5)),
        ({"name": "a", "add": 2, "action": "set", "value": 5}, MetricOperation(ADD, "a", 2.0)),
        ({"name": "a", "add": 2, "set": 3, "action": "set", "value": 5}, MetricOperation(SET, "a", 5.0)),
        (
            {"name": "a", "action": "observe", "value": 1, "buckets": [1, 2.5]},
            MetricOperation(OBSERVE, "a", 1.0, (1.0, 2.5)),
        ),
        ({"name": "a", "action": "observe", "value": 1, "buckets": []}, MetricOperation(OBSERVE, "a", 1.0)),
        ({"action": "expire", "group": "g"}, MetricOperation(EXPIRE, group="g")),
        ({"NAME": "a", "Set": 1, "group": None}, MetricOperation(SET, "a", 1.0)),
        (
            {"name": "a", "set": 1, "labels": {"z": "1", "b": "2", "n": None}, "group": "g"},
            MetricOperation(SET, "a", 1.0, labels=(("b", "2"), ("n", ""), ("z", "1")), group="g"),
        ),
        ({"name": "{PREFIX}m-1 x", "set": 1, "more": []}, MetricOperation(SET, "{PREFIX}m-1 x", 1.0)),
    ],
)
def test_a_document_is_an_operation(document: dict[str, Any], operation: MetricOperation) -> None:
    assert parse(orjson.dumps(document)) == (operation,)


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


def test_a_file_is_a_stream_of_objects() -> None:
    assert [operation.name for operation in parse(b'{"name":"a","set":1}{"name":"b",\n"add":1}\n\n')] == ["a", "b"]
    assert parse(b"") == ()


@pytest.mark.parametrize("document", [{"name": "a", "action": "sett", "value": 1}, {"name": "a"}, {}, None])
def test_an_unknown_action_is_dropped_with_a_warning(document: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert parse(orjson.dumps(document) + b'{"name":"b","set":1}') == (MetricOperation(SET, "b", 1.0),)
    warning = capfd.readouterr().err
    assert "metric operation is dropped: unknown action" in warning
    assert "did you mean 'set'?" in warning or "use one of add, set, observe, expire" in warning


@each(
    ("document", "reason"),
    [
        ({"action": "set", "value": 1}, "name is required for set"),
        ({"name": "", "action": "add", "value": 1}, "name is required for add"),
        ({"name": "a", "action": "set"}, "value is required for set"),
        ({"name": "a", "add": 1, "set": 1, "action": "add"}, "value is required for add"),
        ({"name": "a", "action": "observe", "buckets": []}, "value is required for observe"),
        ({"name": "a", "action": "observe", "value": 1}, "buckets is required for observe"),
        ({"name": "a", "action": "observe", "value": 1, "buckets": None}, "buckets is required for observe"),
        ({"name": "a", "set": "1"}, 'value must be of type number: "string"'),
        ({"name": "a", "set": True}, 'must be of type number: "boolean"'),
        ({"name": "a", "set": 1, "labels": {"code": 200}}, 'labels.code must be of type string: "integer"'),
        ({"name": "a", "action": "observe", "value": 1, "buckets": ["1"]}, "buckets[0] must be of type number"),
        ([], 'must be of type object: "array"'),
    ],
)
def test_a_bad_document_fails_the_run(document: Any, reason: str) -> None:
    with pytest.raises(BadOutput) as error:
        parse(b'{"name":"b","set":1}\n' + orjson.dumps(document))
    assert str(error.value).startswith("got bad metrics: document 2: ")
    assert reason in str(error.value)


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(BadOutput, match=r"document 1: .*; document 1: .*; document 3: "):
        parse(b'{"action":"set"} {"name":"a","set":1} {"name":5}')


@each("text", [b"name: a\nset: 1\n", b'{"name":"a","set":NaN}', b'{"name":"a","se'])
def test_only_json_is_read(text: bytes) -> None:
    with pytest.raises(BadOutput, match=r"^got bad metrics: document 1: not JSON: "):
        parse(text)
