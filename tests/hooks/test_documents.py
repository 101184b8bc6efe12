"""JSON first, YAML where it is not JSON. Level: pure."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.hooks.documents import AT_ONCE, every, every_json, first, first_json, folded
from kubetypes.bounds import CONFIG
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument
from tests.tables import each


@each(
    "text",
    [
        b'\xef\xbb\xbf{"a": 1, "b": [true]}',
        b"\xef\xbb\xbfa: 1\nb: [yes]\n",
        b"a: 1\r\nb:\r\n- on\r\n",
        b'{"a": 1, "b": [true,],}',
        b'{"a": 1, "b": [true]}\nsome junk that was printed after it',
        b'{"a": 0, "a": 1, "b": [true]}',
        b"a: 1\nb: [true]\n---\n[not, looked: at",
    ],
)
def test_a_configuration_is_read_leniently(text: bytes) -> None:
    assert first(text) == {"a": 1, "b": [True]}


@each("text", [b"", b"\n\n", b"# a remark\n", b"null"])
def test_a_configuration_without_content_is_read_as_none(text: bytes) -> None:
    assert first(text) is None


@each(
    ("text", "found"),
    [
        (b"", []),
        (b" \n ", []),
        (b'{"a":1}', [{"a": 1}]),
        (b'{"a":1}\n\n{"b":2}\n', [{"a": 1}, {"b": 2}]),
        (b'{"a":1}{"b":\n2} null 5', [{"a": 1}, {"b": 2}, None, 5]),
        (b'{\n "a": 9007199254740993\n}\n{"b": 1}', [{"a": 2**53 + 1}, {"b": 1}]),
    ],
)
def test_a_stream_of_json_may_have_any_layout(text: bytes, found: list[JSON]) -> None:
    assert every(text) == (found, True)


@each(
    ("text", "found"),
    [
        (b"a: y\n---\nb: on\n", [{"a": "y"}, {"b": "on"}]),
        (b'{"a": "two\n  lines"}', [{"a": "two lines"}]),
        (b"---\na: 1\n---\n", [{"a": 1}, None]),
    ],
)
def test_what_is_not_json_throughout_is_yaml_as_a_whole(text: bytes, found: list[JSON]) -> None:
    assert every(text) == (found, False)


@each(
    ("text", "number", "language"),
    [
        (b'{"a":1}\n{"b":', 2, "JSON"),
        (b'{"a":1}\n{"b":2}\n{"c"', 3, "JSON"),
        (b"a: 1\n---\nb: [", 2, "YAML"),
        (b'{"a": "\xff"}', 1, "JSON"),
        (b'{"a": "\\ud800"}', 1, "JSON"),
        (b'{"a":' * 100_000, 1, "nested too deep"),
    ],
)
def test_half_a_document_is_named_by_number_and_by_the_language_that_was_meant(
    text: bytes, number: int, language: str
) -> None:
    with pytest.raises(BadDocument, match=language) as error:
        every(text)
    assert error.value.number == number


def test_text_after_the_first_json_value_is_ignored_where_one_value_is_read() -> None:
    assert first_json(b'{"a": 1} garbage') == {"a": 1}
    with pytest.raises(BadDocument, match="nothing but white space"):
        first_json(b" \n")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.mark.slow
@given(st.lists(st.tuples(JSON_VALUES, st.sampled_from([b"\n", b" ", b"\n\n\t"]), st.booleans())))
def test_any_values_come_back_however_they_are_strung_together(values: list[tuple[JSON, bytes, bool]]) -> None:
    text = b"".join(
        orjson.dumps(value, option=orjson.OPT_INDENT_2 if pretty else None) + gap for value, gap, pretty in values
    )
    assert every_json(text) == [value for value, _, _ in values]


def test_json_keys_are_taken_in_any_case_and_null_is_like_absence() -> None:
    assert folded({"NAME": "a", "Kind": None, "x": 1}, {"name": 0, "kind": 0}, was_json=True) == {"name": "a", "x": 1}
    assert folded({"NAME": "a"}, {"name": 0}, was_json=False) == {"NAME": "a"}
    assert folded(None, {}, was_json=True) == {}


def test_a_large_stream_has_one_value_a_line() -> None:
    line = b'{"a": "' + b"x" * (AT_ONCE // 2) + b'"}'
    assert len(every_json(b"\n".join([line] * 3))) == 3
    with pytest.raises(BadDocument, match="not one JSON value a line, as `jq -c` writes them, in more than 8 MiB"):
        every_json(b"\n".join([line.replace(b": ", b":\n")] * 3))
    with pytest.raises(BadDocument, match="a line of more than 8 MiB; write one JSON value a line"):
        every(b"[" + b",".join([line] * 3) + b"]")


def test_a_configuration_has_a_bound_of_its_own() -> None:
    with pytest.raises(BadDocument, match="more than 1 MiB"):
        first(b'{"a": "' + b"x" * CONFIG.size + b'"}')
