"""Values in place of placeholders, before the text is read as YAML."""

import pytest

from hookrunner.errors import RenderFailed
from hookrunner.manifests.placeholders import replace_placeholders
from hookrunner.model.addons import Placeholder
from kubetypes.json_values import JSON
from tests.tables import each

COREFILE = Placeholder("@C@", "internal.corefile", 4)


def replaced(text: str, values: JSON, *placeholders: Placeholder) -> str:
    return replace_placeholders({"a": text.encode()}, placeholders, values)["a"].decode()


@each(
    ("value", "text"),
    [("cluster.local", "cluster.local"), (5, "5"), (True, "true"), ({"a": [1]}, '{"a":[1]}'), ("", ""), ([], "[]")],
)
def test_a_text_goes_in_as_it_is_and_other_values_as_json(value: JSON, text: str) -> None:
    assert replaced("x: {{ .D }}, {{ .D }}", {"d": value}, Placeholder("{{ .D }}", "d")) == f"x: {text}, {text}"


def test_an_indented_value_goes_on_where_it_stands() -> None:
    values = {"internal": {"corefile": "\n.:53 {\n\terrors\n\n}\n"}}
    assert replaced("C: |\n    @C@\n", values, COREFILE) == "C: |\n    .:53 {\n       errors\n\n    }\n"


def test_replaced_values_are_not_searched_and_the_longest_placeholder_counts() -> None:
    placeholders = (Placeholder("$A", "a"), Placeholder("$AB", "b"))
    assert replaced("$A $AB", {"a": "$AB", "b": "$A"}, *placeholders) == "$AB $A"


def test_a_placeholder_without_a_value_is_refused_where_it_stands() -> None:
    with pytest.raises(RenderFailed) as refused:
        replaced("@C@", {"internal": {"corefile": None}}, COREFILE)
    assert "a: the placeholder @C@ has no value: set internal.corefile" in str(refused.value)
    assert replaced("none here", {"internal": 5}, COREFILE) == "none here"


def test_files_that_are_no_text_stay_as_they_are() -> None:
    files = {"image.png": b"\xff\xfe\x00", "a": b"\xff @C@"}
    found = replace_placeholders(files, [COREFILE], {"internal": {"corefile": "x"}})
    assert found == {"image.png": b"\xff\xfe\x00", "a": b"\xff x"}
