"""Characters with a meaning of their own to Helm or YAML. `test_renderer.py` sends them through Helm. Level: pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.charts.characters import harmless, marked, require_same_structure, unmarked
from hookrunner.errors import RenderFailed
from kubetypes.json_values import JSON
from kubetypes.yaml_values import YAML_1_1, documents
from tests.tables import each

BLOCK = st.text(min_size=1).filter(lambda text: not text[0].isspace())


def read(text: str) -> JSON:
    [document] = documents(marked(text).encode(), YAML_1_1)
    return unmarked(document)


@pytest.mark.slow
@given(BLOCK)
def test_no_text_leaves_the_block_that_it_is_indented_into(text: str) -> None:
    found = read("a:\n  b: |-\n    " + text.replace("\n", "\n    ") + "\n  c: 1\n")
    assert list(found["a"]) == ["b", "c"]
    assert found["a"]["b"].rstrip() == text.replace("\r\n", "\n").rstrip()


@each("character", ["\r", "\x85", "\u2028", "\u2029", "\x00", "\x1b", "\x7f", "\uffff"])
def test_values_are_made_harmless(character: str) -> None:
    assert harmless({"a": ["b\r\n\t", {"c": f"d{character}e"}], f"{character}": 1}) == {
        "a": ["b\r\n\t", {"c": "dxe"}],
        "x": 1,
    }


def test_values_without_such_characters_need_no_second_render() -> None:
    assert harmless({"a": ["b\r\n\t\ue000\xa0", 5, None, "\\u2028"]}) is None


@each("objects", [[], [{}, {}], [{"a": "", "b": 1}], [{"a": 1}], [{"a": True}], [{"a": [""]}], [{"a\r\n": ""}]])
def test_other_objects_or_keys_are_refused_by_the_name_of_the_value(objects: list[JSON]) -> None:
    with pytest.raises(RenderFailed, match=r"^value a\.1: a control character or a line end of YAML .*; remove it"):
        require_same_structure(objects, [{"a": ""}], {"a": ["b", "c\r"]})


def test_other_texts_are_not_refused() -> None:
    objects, plain = [{"a\r": "b\u2028", "c": [1, "sha1"]}], [{"ax": "bx", "c": [2.5, "sha2"]}]
    require_same_structure(objects, plain, {"a": "b\u2028"})
