"""What YAML text means to a Kubernetes user. Which texts are YAML at all is the library's business. Level: pure."""

import pytest

from kubetypes.bounds import DocumentBounds
from kubetypes.json_values import JSON
from kubetypes.yaml_values import YAML_1_1, YAML_1_2, BadDocument, documents
from tests.tables import each


def value(text: str, old_words: bool = False) -> JSON:
    return next(documents(text.encode(), YAML_1_1 if old_words else YAML_1_2))


@each(
    ("text", "meaning"),
    [
        ("5", 5),
        ("+5", 5),
        ("-3", -3),
        ("0x10", 16),
        ("0x_", "0x_"),
        ("0o__", "0o__"),
        ("-0b_1", -1),
        ("0o17", 15),
        ("0644", 420),
        ("0b101", 5),
        ("1_000", 1000),
        ("08", "08"),
        ("1.0", 1.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.2.3", "1.2.3"),
        ("~", None),
        ("null", None),
        ("", None),
        ("true", True),
        ("False", False),
        ("2020-01-01", "2020-01-01"),
        ("1:30", "1:30"),
        ("=", "="),
        (".nan", ".nan"),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("|\n  true\n", "true\n"),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_a_plain_word_means_what_a_kubernetes_user_means(text: str, meaning: JSON) -> None:
    found = value(f"key: {text}")["key"]
    assert (found, type(found)) == (meaning, type(meaning))


@each("word", ["y", "N", "yes", "No", "ON", "off"])
def test_the_old_words_for_true_and_false_are_texts_except_in_the_old_dialect(word: str) -> None:
    assert value(word) == word
    assert value(word, old_words=True) is (word.lower() in ("y", "yes", "on"))


def test_a_key_is_the_text_that_was_written() -> None:
    assert value("{1: a, on: b, null: c, 0x10: d, true: e}") == {
        "1": "a",
        "on": "b",
        "null": "c",
        "0x10": "d",
        "true": "e",
    }


def test_the_last_of_two_equal_keys_counts() -> None:
    assert value("a: 1\na: 2") == {"a": 2}


def test_merged_keys_give_way_to_own_ones_and_to_earlier_sources() -> None:
    text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2, d: 2}\nz: {d: 3, <<: [*x, *y]}\nw: {<<: *x, a: 4}"
    assert value(text)["z"] == {"a": 1, "b": 1, "c": 2, "d": 3}
    assert value(text)["w"] == {"a": 4, "b": 1}


def test_a_quoted_merge_sign_is_a_key_like_any_other() -> None:
    assert value('"<<": 1') == {"<<": 1}


def test_documents_are_read_one_by_one_and_none_before_it_is_asked_for() -> None:
    stream = documents(b"a: 1\n---\n---\nb: [", YAML_1_2)
    assert [next(stream), next(stream)] == [{"a": 1}, None]
    with pytest.raises(BadDocument, match=r"^not YAML: line \d: ") as error:
        next(stream)
    assert error.value.number == 3


@each(
    ("text", "reason"),
    [
        ("? [a]\n: 1", "line 1: a key must be a text"),
        ("a: &x [*x]", r"line 1: an alias \(`\*name`\) refers to nothing, or to a value that contains it"),
        ("a: *x", "x"),
        ("a: {<<: 5}", "line 1: `<<` takes a mapping"),
        ("a: !!binary aaaa", "a tag \\(`!name`\\) means nothing here"),
        ("a: !!int x", "line 1: no integer; quote it"),
        ("a: 18446744073709551616", "more than 64 bits; quote it"),
        ("a: -9223372036854775809", "more than 64 bits; quote it"),
        ("a: 1e999", "a number that JSON does not have; quote it"),
        ("a: b\n\tc: d", "line 2: "),
        ("\x00", "control characters are not allowed"),
        ("[" * 100_000, "nested too deep"),
        ("- " * 100_000, "nested too deep"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_one_line(text: str, reason: str) -> None:
    with pytest.raises(BadDocument, match=reason) as error:
        value(text)
    assert "\n" not in str(error.value)


def test_a_few_lines_do_not_fill_the_memory_through_their_aliases() -> None:
    rows = ["- &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"- &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(BadDocument, match=r"line 7: more than 2,000,000 values, aliases .* written out"):
        list(documents("\n".join(rows).encode(), YAML_1_2))


@each("item", ["x", "{}", "[]", "null", "7"])
def test_values_count_also_where_they_are_written_out(item: str) -> None:
    text = f'{{"a": [{", ".join([item] * 8)}]}}'.encode()
    assert list(documents(text, YAML_1_1, DocumentBounds("a test", 1000, 10)))
    with pytest.raises(BadDocument, match=r"line 1: more than 9 values, aliases .* written out"):
        list(documents(text, YAML_1_1, DocumentBounds("a test", 1000, 9)))
