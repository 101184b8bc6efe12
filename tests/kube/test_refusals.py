"""Values are removed from the API server's refusals. Level: pure."""

from hookrunner.errors import api_error
from hookrunner.kube.refusals import is_storage_new, without_values
from kubetypes.json_values import JSON
from tests.tables import each

INVALID = 'ConfigMap "a" is invalid: '


@each(
    ("message", "kept"),
    [
        (
            INVALID + 'data[x y]: Invalid value: "x y": a valid config key must consist of …',
            INVALID + "data[x y]: Invalid value: a valid config key must consist of …",
        ),
        (
            INVALID + '[a.b: Required value: must be set, c: Invalid value: "it: is \\"s\\"": no, d: Not found: "e"]',
            INVALID + "[a.b: Required value: must be set, c: Invalid value: no, d: Not found]",
        ),
        (
            'spec.x: Unsupported value: "hunter2": supported values: "a", "b"',
            'spec.x: Unsupported value: supported values: "a", "b"',
        ),
        (
            "spec.replicas: Invalid value: -5: must be greater than 0",
            "spec.replicas: Invalid value: must be greater than 0",
        ),
        ('[a: Duplicate value: 54321, b: Duplicate value: "c"]', "[a: Duplicate value, b: Duplicate value]"),
        ('a: Duplicate value: {"name":"x: }","b":[1]}', "a: Duplicate value"),
        (
            'spec.selector: Invalid value: v1.Selector{Labels:map[string]string{"app":"x: y"}}: field is immutable',
            "spec.selector: Invalid value: field is immutable",
        ),
        (
            'spec.n: Invalid value: "string": spec.n in body must be of type integer: "string"',
            'spec.n: Invalid value: spec.n in body must be of type integer: "string"',
        ),
        (
            'Apply failed with 1 conflict: conflict with "kubectl" using v1: .spec.tokens[="hunter2"]',
            'Apply failed with 1 conflict: conflict with "kubectl" using v1: .spec.tokens[=…]',
        ),
        (
            "failed to create typed patch object (ns/a; v1, Kind=A): .spec.n: expected numeric (int or float), got "
            '&value.valueUnstructured{Value:"hunter2"}',
            "failed to create typed patch object (ns/a; v1, Kind=A): .spec.n: expected numeric (int or float)",
        ),
        ("a: Invalid value: {[", "a: Invalid value"),
        ('configmaps "a" is forbidden: User "b" cannot get it', 'configmaps "a" is forbidden: User "b" cannot get it'),
    ],
)
def test_the_value_of_a_field_is_left_out(message: str, kept: str) -> None:
    assert without_values(message, None) == kept


@each(
    ("message", "kept"),
    [
        ('admission webhook "w" denied the request: "hunter2" is too short', '"***" is too short'),
        ("cannot unmarshal 54321 into Go struct field", "cannot unmarshal *** into Go struct field"),
        ('ConfigMap "name-1" in "space-1" is bad', 'ConfigMap "name-1" in "space-1" is bad'),
    ],
)
def test_the_values_of_the_body_are_masked_in_every_other_sentence(message: str, kept: str) -> None:
    body: JSON = {
        "kind": "ConfigMap",
        "metadata": {"name": "name-1", "namespace": "space-1"},
        "data": {"password": "hunter2", "port": 54321},
    }
    assert without_values(message, body).endswith(kept)


def test_the_storage_of_a_kind_that_was_defined_just_now_is_told_from_overload() -> None:
    new = api_error(429, "TooManyRequests", "storage is (re)initializing", 1.0)
    assert is_storage_new(new)
    assert not is_storage_new(api_error(429, "TooManyRequests", "too many requests", 1.0))
