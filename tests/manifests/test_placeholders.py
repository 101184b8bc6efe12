"""Values in place of placeholders: in YAML no text ends the scalar that it is put into, other files get texts as they
are.

Level: pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.errors import BadManifest, RenderFailed
from hookrunner.manifests.placeholders import PlaceholderValues
from hookrunner.manifests.sourced_object import read_objects
from hookrunner.manifests.yaml_writer import flow
from hookrunner.model.addons import Placeholder
from kubetypes.json_values import JSON
from kubetypes.yaml_values import YAML_1_1, documents
from tests.tables import each

COREFILE = Placeholder("@C@", "internal.corefile", 4)
D = Placeholder("{{ .D }}", "d")
HOSTILE = "hi\r---\ra: b\x85---\u2028---\u2029---\n---\n'\"}]#: &a *a {{ .D }}\n\tx"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"


def replaced(text: str, values: JSON, *placeholders: Placeholder, inline: frozenset[str] = frozenset()) -> str:
    return PlaceholderValues(placeholders, values).replace_in_yaml({"a": text.encode()}, inline)["a"].decode()


def read(text: str, values: JSON, *placeholders: Placeholder, inline: frozenset[str] = frozenset()) -> JSON:
    [document] = documents(replaced(text, values, *placeholders, inline=inline).encode(), YAML_1_1)
    return document


@each("value", ["cluster.local", "5", "true", "", "null", "- a", 5, True, {"a": [1]}, [], HOSTILE])
def test_alone_a_placeholder_becomes_the_value(value: JSON) -> None:
    assert read("clusterIP: {{ .D }}\nb: [{{ .D }}]", {"d": value}, D) == {"clusterIP": value, "b": [value]}


@each(
    ("value", "text"),
    [("a\nb", "a\nb"), (5, "5"), (True, "true"), ({"a": [1]}, '{"a":[1]}'), ("", ""), ([], "[]"), (HOSTILE, HOSTILE)],
)
def test_inside_a_text_a_placeholder_becomes_text(value: JSON, text: str) -> None:
    lines = ('"{{ .D }}"', "'-{{ .D }}'", "http://{{ .D }}/{{ .D }}", "|-\n  {{ .D }}:53\n  {{ .D }}", ">-\n  {{ .D }}")
    found = [read(f"a: {line}\nb: 1", {"d": value}, D) for line in lines]
    texts = [text, f"-{text}", f"http://{text}/{text}", f"{text}:53\n{text}".rstrip("\n"), text]
    assert found == [{"a": expected, "b": 1} for expected in texts]


@given(st.text(), st.integers(min_value=0, max_value=9))
def test_no_text_ends_the_scalar_that_it_is_put_into(text: str, indent: int) -> None:
    template = f"{CONFIG}data:\n  a: |\n    @C@\n    b: @C@\n  c: '@C@'\n  d: @C@ # @C@\n  {{{{ .D }}}}: e\n"
    values = {"internal": {"corefile": text}, "d": f"key {text}"}
    filled = replaced(template, values, Placeholder("@C@", "internal.corefile", indent), D)
    [source] = read_objects({"a": filled})
    assert (source.kind, source.name, len(source.obj["data"])) == ("ConfigMap", "web", 4)
    assert source.obj["data"]["d"] == text
    assert source.obj["data"][f"key {text}"] == "e"


def test_an_indented_value_goes_on_where_it_stands() -> None:
    values = {"internal": {"corefile": "\n.:53 {\r\n\terrors\n\n}\n"}}
    assert read("C: |\n    @C@\n", values, COREFILE) == {"C": ".:53 {\n\terrors\n\n}\n"}
    deeper = read("- C: |\n    server:\n      @C@\n  b: 1", values, Placeholder("@C@", "internal.corefile", 6))
    assert deeper == [{"C": "server:\n  .:53 {\n  \terrors\n\n  }\n", "b": 1}]


@each(
    ("header", "texts"),
    [("|", ["a\n", "", "a\n"]), ("|-", ["a", "", "a"]), ("|+", ["a\n\n", "\n", "a\n"]), (">2- # +", ["a ", "", "a"])],
)
def test_a_block_keeps_as_many_line_ends_as_its_header_says(header: str, texts: list[str]) -> None:
    found = read(f"- {header}\n  a\n  @E@\n- {header}\n  @E@\n- {header}\n  a\n", {"e": ""}, Placeholder("@E@", "e", 2))
    assert found == texts


def test_the_rest_of_the_file_stays_as_it_is() -> None:
    text = "# {{ .D }}\n\n&x {{ .D }}: &y {{ .D }}   # why\r\n'{{ .D }}': |  # {{ .D }}\n  a {{ .D }}\n# end"
    assert replaced(text, {"d": "v"}, D) == '# {{ .D }}\n\n&x "v": &y "v"   # why\r\n"v": "a v\\n"\n# end'


def test_replaced_values_are_not_searched_and_the_longest_placeholder_counts() -> None:
    placeholders = (Placeholder("$A", "a"), Placeholder("$AB", "b"))
    assert read("[$A, $AB, placeholder0w]", {"a": "$AB", "b": "$A"}, *placeholders) == ["$AB", "$A", "placeholder0w"]


def test_a_placeholder_without_a_value_is_refused_where_it_stands() -> None:
    with pytest.raises(RenderFailed) as refused:
        replaced("@C@", {"internal": {"corefile": None}}, COREFILE)
    assert "a: the placeholder @C@ has no value: set internal.corefile" in str(refused.value)
    assert replaced("none here", {"internal": 5}, COREFILE) == "none here"


@each(
    ("data", "message"),
    [(b"b: 1\na: '{{ .D }}\n", "a.yaml: not YAML: line 3: "), (b"a: \xff {{ .D }}", "a.yaml: is not UTF-8")],
)
def test_what_is_no_yaml_is_refused_where_a_placeholder_stands(data: bytes, message: str) -> None:
    with pytest.raises(BadManifest, match=message):
        PlaceholderValues([D], {"d": "v"}).replace_in_yaml({"a.yaml": data})


def test_documents_in_texts_are_yaml_as_well() -> None:
    text = "patch: |-\n  - op: replace\n    value: {{ .D }}\nnote: |-\n  a: {{ .D }}\n"
    found = read(text, {"d": HOSTILE}, D, inline=frozenset(["patch"]))
    [patch] = documents(found["patch"].encode(), YAML_1_1)
    assert (patch, found["note"]) == ([{"op": "replace", "value": HOSTILE}], f"a: {HOSTILE}")


@each("patch", ["- {op: replace, value: {{ .D }}}", "- op: '{{ .D }}'", "{op: '{{ .D }}'}", "op: '{{ .D }}'"])
def test_documents_of_one_line_are_yaml_as_well(patch: str) -> None:
    found = read(f"patch: {flow(patch)}", {"d": HOSTILE}, D, inline=frozenset(["patch"]))
    [document] = documents(found["patch"].encode(), YAML_1_1)
    [operation] = document if isinstance(document, list) else [document]
    assert HOSTILE in operation.values()
    assert operation.keys() <= {"op", "value"}


@each("value", ["b\nkind: x", "b\rkind: x", "b\x85kind: x", "b\u2028x", "b\u2029x", ": b", "{a: b}"])
def test_no_value_makes_a_document_of_a_name(value: str) -> None:
    generators = frozenset(["generators"])
    assert read("Generators: ['{{ .D }}']", {"d": "a-b"}, D, inline=generators) == {"Generators": ["a-b"]}
    before = "a" if value == ": b" else ""
    with pytest.raises(BadManifest, match="Generators: a value would make a document of a name"):
        read(f"Generators: ['{before}{{{{ .D }}}}']", {"d": value}, D, inline=generators)


def test_files_that_are_not_yaml_get_texts_as_they_are() -> None:
    values = PlaceholderValues([COREFILE, D], {"internal": {"corefile": " x\r\ny "}, "d": HOSTILE})
    found = values.replace_in_texts({"image.png": b"\xff\xfe\x00", "a": b"\xff @C@", "b": b"{{ .D }}"})
    assert found == {"image.png": b"\xff\xfe\x00", "a": b"\xff x\n    y", "b": HOSTILE.encode()}


@each("end", ["\n", "\r", "\r\n", "\x85", "\u2028", "\u2029"])
def test_a_line_end_is_refused_where_each_line_is_a_variable(end: str) -> None:
    values = PlaceholderValues([D], {"d": f"a{end}B=c"})
    with pytest.raises(BadManifest, match=r"x\.env: each line is a variable, and d has a line end; remove it, or put"):
        values.replace_in_texts({"x.env": b"A={{ .D }}"}, frozenset(["x.env"]))
