"""Where values stand in YAML: keys, lists, blocks, duplicates, several documents, texts that are broken.

Level: pure."""

import pytest
import yaml

from hookrunner.manifests.yaml_positions import find_positions, line_of, readable_positions

TEXT = """\
a:
  b: [1, {c: 2}]
  k8s.io/x: |
    text

d: &anchor
- e
- *anchor
a: again
"""


def test_each_value_has_its_place_and_that_of_its_key() -> None:
    positions = find_positions(TEXT)
    assert (positions["a.b"].key, positions["a.b"].start, positions["a.b"].end) == ((1, 2), (1, 5), (1, 16))
    assert (positions["a.b[1].c"].start, positions["a.b[1]"].flow) == ((1, 13), True)
    assert positions["a.k8s.io/x"].end[0] == 4
    assert (positions["d[0]"].key, positions["d[0]"].first) == (None, (6, 2))
    assert line_of("d[1].missing", positions) == 8


def test_of_a_key_that_stands_twice_the_later_one_is_marked() -> None:
    marked = [(position.name, position.first) for _, position in readable_positions(TEXT) if position.again]
    assert marked == [("a", (8, 0))]


def test_documents_and_broken_texts_are_read_up_to_the_error() -> None:
    text = "a: 1\n---\nb: 2\n---\nc: {\n"
    assert [path for path, _ in readable_positions(text)] == ["", "a", "", "b", "", "c"]
    assert list(find_positions(text)) == ["", "a"]
    with pytest.raises(yaml.YAMLError):
        find_positions("c: {\n")
