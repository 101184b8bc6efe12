"""JSON as YAML: every parser reads it alike. Level: pure."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.manifests.yaml_writer import dump
from kubetypes.json_values import JSON
from kubetypes.yaml_values import YAML_1_1, documents

texts = st.text(max_size=12) | st.text(alphabet="ab-:#|>\n\t \"'\\yN012.=,[]{}&*!%@~", max_size=12)
WORDS = "y n yes No on OFF null ~ 1_000 0x1F 1:30 08 1e3 .5 - --- ... << = ? 2024-01-01 a: a:b a#b"
words = st.sampled_from(WORDS.split())
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars | texts | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | words, inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.dictionaries(texts | words, values, max_size=4))
def test_dumped_values_are_read_back_unchanged(value: dict[str, JSON]) -> None:
    [found] = documents(dump(value).encode(errors="surrogatepass"), YAML_1_1)
    assert found == value


@given(st.dictionaries(texts | words, texts | words | st.lists(texts | words, max_size=2), max_size=4))
def test_texts_are_texts_to_other_parsers_too(value: dict[str, JSON]) -> None:
    assert yaml.load(dump(value), Loader=yaml.CSafeLoader) == value


def test_keys_that_are_too_long_for_a_line_are_read_back() -> None:
    for key in ("a" * 2000, "a: b " * 300, "\r" * 600):
        value = {"x": [{key: 1, "b": 2}, {"b": {key: {"c": [1]}}}, {key: [{"z": 1}]}], key: "a\nb", "l": {key: {}}}
        assert [*documents(dump(value).encode(), YAML_1_1)] == [value]


def test_manifest_is_readable_yaml() -> None:
    text = dump({"a": {"b": [1, {"x": "v1", "y": []}, [2, "three"]]}, "script": "#!/bin/sh\n\necho hi\n", "n": "on"})
    assert text == (
        'a:\n  b:\n    - 1\n    - x: v1\n      "y": []\n    - - 2\n      - three\n'
        'script: |\n  #!/bin/sh\n\n  echo hi\n"n": "on"\n'
    )
