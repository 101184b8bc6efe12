"""The estimate of what parsing takes, compared with what it then takes. Level: pure."""

import tracemalloc

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.web.review_bodies import ParsingCost
from tests.tables import each

SIZE = 300_000


def many(item: str) -> bytes:
    """A list of as many items as make it as large as the others."""
    return f"[{','.join([item] * (SIZE // (len(item) + 1)))}]".encode()


def numbered(item: str) -> bytes:
    return f"[{','.join(item.replace('0', str(n)) for n in range(100_000, 120_000))}]".encode()


HOSTILE = {
    text: many(text)
    for text in (
        "{}",
        "[]",
        "[[[]]]",
        '{"a":1}',
        '{"a":{}}',
        '""',
        '"a"',
        '"ab"',
        "7",
        "1000",
        "1.5",
        "1e9",
        '"é"',
        '"😀"',
    )
} | {"keys": numbered('{"0":null}'), "members": b"{" + numbered('"0":1000')[1:-1] + b"}"}
OBJECT = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-7d9f", "namespace": "default", "labels": {"app": "web"}, "annotations": {}},
    "spec": {
        "containers": [{"name": "web", "image": "nginx:1.25", "ports": [{"containerPort": 80}], "resources": {}}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "terminationGracePeriodSeconds": 30,
        "enableServiceLinks": True,
    },
}
HONEST = {
    "objects": orjson.dumps([OBJECT] * 500),
    "text": orjson.dumps("x" * SIZE),
    "JSON as a text": orjson.dumps(orjson.dumps([OBJECT] * 500).decode()),
    "a wide character": orjson.dumps("x" * SIZE + "😀"),
}


def estimate(text: bytes, part: int = SIZE) -> int:
    cost = ParsingCost()
    for start in range(0, len(text), part):
        cost.feed(text[start : start + part])
    return cost.estimate


def taken(text: bytes) -> int:
    """Bytes of the parsed value."""
    orjson.loads(text)  # keys are kept from one call to the next
    tracemalloc.start()
    try:
        value = orjson.loads(text)
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        del value


@pytest.mark.slow
@pytest.mark.parametrize("text", [*HOSTILE.values(), *HONEST.values()], ids=[*HOSTILE, *HONEST])
def test_parsing_takes_no_more_than_estimated(text: bytes) -> None:
    assert taken(text) * 0.9 <= estimate(text)


@each("text", HONEST.values(), ids=HONEST)
def test_estimate_is_close_to_what_objects_and_texts_take(text: bytes) -> None:
    assert estimate(text) < 2.2 * taken(text)


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.text() | st.integers(0, 9), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    ),
    st.integers(1, 5),
)
def test_estimate_does_not_depend_on_the_pieces(value: object, part: int) -> None:
    """A `{}` that is cut counts for an object with something in it."""
    text = orjson.dumps(value)
    assert estimate(text) <= estimate(text, part) <= estimate(text) + 150 * (text.count(b"{}") + text.count(b"[]"))


@each("text", [b"", b'"', b"\\", b'\\\\\\"{', b'"\\', b"\xff" * 100, b'"\xf0' * 50])
def test_estimate_accepts_text_that_is_not_json(text: bytes) -> None:
    assert estimate(text, 1) >= 0
