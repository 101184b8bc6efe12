"""Hostile texts, and what shows that one was not carried. Level: pure."""

import json

from hookrunner.linting.hostile_texts import Rendered, alone, texts_for
from kubetypes.json_values import JSON
from tests.tables import each


def config(text: JSON, name: str = "web") -> JSON:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}


def test_all_is_tried_at_once_where_the_schema_takes_it() -> None:
    texts = texts_for(7, lambda _: True)
    assert texts
    whole, rare = texts.hostile
    assert [char for char in "\n\r'\"{}&*#\t\x00\x1b" if char not in whole.text] == []
    assert [char for char in "\r\x85\u2028\u2029" if char not in rare.text] == []
    assert ("\n" in rare.text, "---" in whole.text, texts.word, texts.other) == (False, True, "q7xz", "q7xy")
    assert [one.parts for one in alone(whole)] == [(part,) for part in whole.parts]
    assert len(whole.harmless) == len(whole.text)


def test_parts_are_tried_apart_where_all_are_too_long_or_refused() -> None:
    short = texts_for(7, lambda text: len(text) <= 18)
    assert short
    assert len(short.hostile) > 2
    assert max(len(one.text) for one in short.hostile) <= 18
    one_line = texts_for(7, lambda text: not set(text) & set("\n\r") and text.startswith("--"))
    assert one_line
    assert "line ends" not in one_line.hostile[0].parts
    assert one_line.word == "--q7xz"


@each("accepts", [lambda text: text.isalnum(), lambda text: "\n" in text, lambda text: False])
def test_nothing_is_tried_where_no_hostile_text_or_no_word_is_taken(accepts: object) -> None:
    assert texts_for(7, accepts) is None  # type: ignore[arg-type]


@each(
    "carry",
    [str, lambda text: f"a\n  {text.replace(chr(10), chr(10) + '  ')}\n", lambda text: json.dumps({"a": [text]})],
)
def test_a_text_is_found_inside_others_indented_or_as_json(carry: object) -> None:
    texts = texts_for(1, lambda _: True)
    assert texts
    for text in (texts.word, *(one.text for one in texts.hostile)):
        assert Rendered([config("none"), config(carry(text))]).count(text) == 1  # type: ignore[operator]


@each("change", [lambda text: text.replace("'", ""), lambda text: text.split("\n")[0], lambda text: text[:-1]])
def test_a_text_that_has_lost_something_is_not_found(change: object) -> None:
    texts = texts_for(1, lambda _: True)
    assert texts
    assert Rendered([config(change(texts.hostile[0].text))]).count(texts.hostile[0].text) == 0  # type: ignore[operator]


def test_objects_are_known_by_kind_namespace_and_name() -> None:
    named, plain = Rendered([config("q1xz", name="a-q1xz")]), Rendered([config("q1xz")])
    assert named.identities == [("v1", "ConfigMap", "", "a-q1xz")]
    assert named.kinds == plain.kinds
    assert (named.is_named("q1xz"), plain.is_named("q1xz"), plain.where("q1xz")) == (True, False, "ConfigMap web")
