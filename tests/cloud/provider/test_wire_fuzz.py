"""Whatever a program prints, reading it ends in a value or a `ProviderError`, and nothing else is raised.

Level: pure."""

import json
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.cloud.answers import ProviderError, Want
from hookrunner.cloud.provider import verbs, wire_results
from hookrunner.cloud.provider.wire_answers import read_answer, request_id_of, result_of
from kubetypes.json_values import JSON

KEYS = [
    "providerName",
    "providerIDPrefixes",
    "interfaces",
    "features",
    "limits",
    "maxParallel",
    "timeoutSeconds",
    "instances",
    "name",
    "state",
    "addresses",
    "type",
    "address",
    "additionalLabels",
    "exists",
    "status",
    "ingress",
    "ip",
    "ports",
    "loadBalancers",
    "routes",
    "destinationCIDR",
    "blackhole",
    "create",
    "delete",
    "ok",
    "error",
    "code",
    "retryAfterSeconds",
]
TEXTS = st.sampled_from(["a", "running", "notFound", "Pending", "sim://", "", "10.0.0.0/8"]) | st.text(max_size=3)
VALUES: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=15,
)
READERS: list[Callable[[dict[str, JSON]], object]] = [
    lambda result: verbs.CAPABILITIES.read(result, None),
    lambda result: wire_results.read_instances(result, ["a"], set(Want)),
    wire_results.read_load_balancer,
    wire_results.read_ensured,
    wire_results.read_load_balancers,
    wire_results.read_routes,
    lambda result: wire_results.read_applied(result, 1, 0),
]


def is_read(read: Callable[[], object]) -> bool:
    try:
        read()
    except ProviderError as error:
        return bool(error.reason)
    return True


@given(st.binary(max_size=60) | TEXTS.map(str.encode) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_text(text: bytes) -> None:
    assert is_read(lambda: result_of(read_answer(text), verbs.INSTANCES, "r1"))
    assert is_read(lambda: request_id_of(read_answer(text)))


@given(VALUES)
def test_any_error(error: JSON) -> None:
    text = json.dumps({"error": error}).encode()
    with pytest.raises(ProviderError):
        result_of(read_answer(text), verbs.INSTANCES, "r1")


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6))
def test_any_result(result: dict[str, JSON]) -> None:
    assert [read for read in READERS if not is_read(partial(read, result))] == []
