"""Bodies that do not fit their kind: errors, warnings and what is left, against a real API server, word by word.

Level: control plane."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from kubesandbox.builtin import decode
from kubesandbox.status import Refused
from kubetypes.quantities import canonical, quantity
from tests.kubesandbox.builtin.ours import KINDS, Object, kind_of, theirs
from tests.kubesandbox.oracle import Oracle
from tests.tables import each

WRONG = Path(__file__).parent / "wrong_types.yaml"
QUANTITIES = (
    *(
        "0",
        "1",
        "-1",
        "+5",
        "0.5",
        "1.5",
        ".5",
        "5.",
        "100m",
        "1000m",
        "1500m",
        "1n",
        "0.1n",
        "1u",
        "1000u",
        "1k",
        "1000k",
    ),
    *("1M", "1024", "1024Ki", "1Mi", "1024Mi", "0.5Gi", "0.1Gi", "1.5Gi", "1.25Mi", "1Ei", "1E", "1e3"),
    *(
        "1E3",
        "1e0",
        "12e6",
        "1.5e3",
        "1e-3",
        "5e4",
        "123456789",
        "1000000",
        "100000k",
        "0Mi",
        "0.0",
        "00012",
        "1P",
        "2Ti",
    ),
    *(
        "-0.5",
        "-1Gi",
        "0.001",
        "0.0001",
        "1e1",
        "1e2",
        "1023Ki",
        "512",
        "1000Ki",
        "0.5Ki",
        "2000",
        "9007199254740993",
        "0001.50",
        "1.50",
        "010m",
        "0100Mi",
        "1.0",
        "10.0",
        "007k",
    ),
)


def wrong() -> list[Any]:
    """Every body of `wrong_types.yaml`, whole."""
    kinds = {kind.kind: kind for kind in reversed(KINDS)}
    return [
        pytest.param(
            {"apiVersion": kinds[one["kind"]].api_version, "kind": one["kind"], "metadata": {"name": "a"}}
            | one["body"],
            id=f"{one['kind']}-{one['body']}"[:80],
        )
        for one in yaml.load(WRONG.read_text(), yaml.CSafeLoader)
    ]


@each("obj", wrong)
def test_a_wrong_type_is_refused_in_the_words_of_a_real_server(oracle: Oracle, obj: Object) -> None:
    kind = kind_of(obj)
    code, body = theirs(oracle, obj)
    with pytest.raises(Refused) as refused:
        decode.decoded(kind.api_version, kind.kind, obj)
    assert (refused.value.code, refused.value.message) == (code, body["message"])


UNKNOWN: Object = {
    "metadata": {"name": "a", "labelz": {}, "ownerReferences": [{"apiVersion": "v1", "x": {"y": 1}}]},
    "Spec": {},
    "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 1}, {"y": 1}], "z": [1]}]},
}


def test_unknown_fields_are_named_in_the_order_of_the_body(oracle: Oracle) -> None:
    _, body = theirs(oracle, {"apiVersion": "v1", "kind": "Pod", **UNKNOWN}, fieldValidation="Strict")
    with pytest.raises(Refused) as refused:
        decode.decoded("v1", "Pod", UNKNOWN, "Strict")
    assert refused.value.message == body["message"]


def test_unknown_fields_are_warnings_or_nothing_if_so_asked() -> None:
    assert decode.decoded("v1", "ConfigMap", {"foo": 1, "Data": {}}, "Warn") == (
        {"metadata": {}},
        ['unknown field "foo"', 'unknown field "Data"'],
    )
    assert decode.decoded("v1", "ConfigMap", {"foo": 1}, "Ignore")[1] == []


def test_fields_that_a_text_has_twice_are_found_with_their_paths() -> None:
    text = b'{"metadata":{"name":"x","name":"y"},"data":{"a":"1","a":"2"},"l":[{},{"x":1,"x":2}],"data":{}}'
    assert decode.duplicates(text) == ["metadata.name", "data.a", "l[1].x", "data"]
    assert decode.duplicates(b'{"a":{"b":1},"c":{"b":1}}') == []


def test_duplicates_inside_an_unknown_field_are_not_reported() -> None:
    with pytest.raises(Refused, match=r'strict decoding error: duplicate field "data", unknown field "foo"$'):
        decode.decoded("v1", "ConfigMap", {"foo": {"a": 1}}, "Strict", ["foo.a", "data"])


def test_amounts_of_resources_have_the_form_that_a_real_server_gives_them(oracle: Oracle) -> None:
    most = {f"example.com/q{at}": text for at, text in enumerate(QUANTITIES)}
    spec = {"limits": [{"type": "a.b/c", "max": most}]}
    obj = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "a"}, "spec": spec}
    _, body = theirs(oracle, obj)
    mine, _ = decode.decoded("v1", "LimitRange", obj)
    assert mine["spec"]["limits"][0]["max"] == body["spec"]["limits"][0]["max"]


@each("text", QUANTITIES)
def test_a_quantity_has_the_form_that_a_real_server_gives_it(oracle: Oracle, text: str) -> None:
    target = {"type": "Value", "value": text}
    metric = {"type": "External", "external": {"metric": {"name": "m"}, "target": target}}
    spec = {"maxReplicas": 1, "scaleTargetRef": {"kind": "A", "name": "b", "apiVersion": "c/v1"}, "metrics": [metric]}
    kind = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    code, body = theirs(oracle, {**kind, "metadata": {"name": "a"}, "spec": spec})
    if text.startswith("-") or not quantity(text):
        assert code == 422
    else:
        assert body["spec"]["metrics"][0]["external"]["target"]["value"] == canonical(text)


@each("value", [None, 1, "x", [], {}, [1], {"a": 1}, True, 1.5, [[]], {"spec": None}])
def test_any_json_is_decoded_or_refused(value: Any) -> None:
    for body in ({"metadata": value}, {"spec": value}, {"spec": {"containers": value}}, {"data": value}):
        with suppress(Refused):
            orjson.dumps(decode.decoded("v1", "Pod", body)[0])


def test_a_body_that_is_nested_too_deep_is_refused() -> None:
    schema: Object = {}
    for _ in range(2000):
        schema = {"properties": {"a": schema}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    with pytest.raises(Refused, match="exceeded max depth"):
        decode.decoded("apiextensions.k8s.io/v1", "CustomResourceDefinition", {"spec": {"versions": [version]}})
