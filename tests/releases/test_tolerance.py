"""Faults in templates that do not matter. The messages are those of Kubernetes 1.35."""

from typing import Any

import pytest

from hookrunner.releases.tolerance import faults, tolerated

HEAD = "failed to create typed patch object (ns/x; apps/v1, Kind=Deployment): "
PORTS = [{"port": 1, "name": "a"}, {"port": 2}, {"port": 1, "name": "b"}]


@pytest.mark.parametrize(
    ("message", "obj", "expected"),
    [
        (".spec.foo: field not declared in schema", {"spec": {"foo": 1, "bar": 2}}, {"spec": {"bar": 2}}),
        (
            'errors:\n  .c[name="a"].x: field not declared in schema\n  .y: field not declared in schema',
            {"c": [{"name": "a", "x": 1}, {"name": "b", "x": 1}], "y": {}, "z": 1},
            {"c": [{"name": "a"}, {"name": "b", "x": 1}], "z": 1},
        ),
        (
            '.ports: duplicate entries for key [port=1,protocol="TCP"]',
            {"ports": PORTS},
            {"ports": PORTS[1:]},
        ),
        (".ports: duplicate entries for key [port=1]", {"ports": [PORTS[0]] * 2}, {"ports": [PORTS[0]]}),
    ],
)
def test_unknown_fields_are_left_out_and_the_last_of_the_same_counts(message: str, obj: Any, expected: Any) -> None:
    assert tolerated(obj, faults(HEAD + message)) == expected


@pytest.mark.parametrize(
    "message",
    [
        HEAD + ".spec.replicas: expected numeric (int or float), got string",
        HEAD + "errors:\n  .a: field not declared in schema\n  .b: expected string, got &value.valueUnstructured{}",
        'Apply failed with 1 conflict: conflict with "helm": .data.k',
    ],
)
def test_what_has_to_be_corrected_is_not_passed_over(message: str) -> None:
    assert faults(message) == []
