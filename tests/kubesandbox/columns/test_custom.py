"""Columns of custom kinds: each path and type gives the cell that a real API server gives. Level: control plane."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesandbox.columns.custom import custom_cells
from kubesandbox.columns.jsonpath import PathError, parse
from tests.controlplane.kinds_data import TABLE
from tests.kubesandbox.oracle import Oracle
from tests.tables import each

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SPEC = {
    "text": "hello <b>",
    "empty": "",
    "whole": 7,
    "big": 123456789012,
    "fraction": 1.5,
    "large": 1234567.5,
    "tiny": 0.00001,
    "yes": True,
    "nothing": None,
    "when": "2026-01-01T00:00:00Z",
    "noWhen": "yesterday",
    "emptyWhen": "",
    "dotted.key": "dots",
    "a-b": "dash",
    "map": {"b": "2", "a": "<&>"},
    "list": ["x", "y", "z"],
    "numbers": [1, 2, 3],
    "nested": [[1, 2], [3]],
    "parts": [
        {"name": "a", "size": 1, "on": True, "tags": ["t"]},
        {"name": "b", "size": 2, "on": False},
        {"name": "c", "size": 3, "on": True, "weight": 0.5},
        {"name": "it's", "size": 4},
    ],
}
# Nothing that depends on the order of a map, which is a new one each time in Go.
COLUMNS = [
    ("string", ".spec.text"),
    ("string", ".spec.empty"),
    ("string", ".spec.whole"),
    ("string", ".spec.big"),
    ("string", ".spec.fraction"),
    ("string", ".spec.large"),
    ("string", ".spec.tiny"),
    ("string", ".spec.yes"),
    ("string", ".spec.nothing"),
    ("string", ".spec.missing"),
    ("string", ".spec.missing.deeper"),
    ("string", ".spec.text.deeper"),
    ("string", ".spec.map"),
    ("string", ".spec.list"),
    ("string", ".spec.parts"),
    ("string", ".spec.dotted\\.key"),
    ("string", ".spec['dotted\\.key']"),
    ("string", ".spec['text']"),
    ("string", ".spec.a-b"),
    ("string", ".spec.list[0]"),
    ("string", ".spec.list[-1]"),
    ("string", ".spec.list[3]"),
    ("string", ".spec.list[*]"),
    ("string", ".spec.list[1:]"),
    ("string", ".spec.list[:2]"),
    ("string", ".spec.list[-2:]"),
    ("string", ".spec.list[0:3:2]"),
    ("string", ".spec.list[2:1]"),
    ("string", ".spec.list[1:1]"),
    ("string", ".spec.list[0,2]"),
    ("string", ".spec.nested[0][1]"),
    ("string", ".spec.nested[*][0]"),
    ("string", ".spec.map[0]"),
    ("string", ".spec.missing[0]"),
    ("string", ".spec['missing','text']"),
    ("string", ".spec..size"),
    ("string", ".spec..tags[0]"),
    ("string", ".spec.parts[*].name"),
    ("string", '.spec.parts[?(@.name=="b")].size'),
    ("string", ".spec.parts[?(@.name=='c')].size"),
    ("string", '.spec.parts[?(@.name=="b")]'),
    ("string", '.spec.parts[?(@.name!="a")].name'),
    ("string", '.spec.parts[?(@.name=="missing")].size'),
    ("string", '.spec.parts[?(@.name=="it\'s")].size'),
    ("string", ".spec.parts[?(@.size>1)].name"),
    ("string", ".spec.parts[?(@.size>=3)].name"),
    ("string", ".spec.parts[?(@.size<2)].name"),
    ("string", ".spec.parts[?(@.size<=1)].name"),
    ("string", ".spec.parts[?(@.size=='1')].name"),
    ("string", ".spec.parts[?(@.on==false)].name"),
    ("string", ".spec.parts[?(@.on==true)].name"),
    ("string", ".spec.parts[?(@.weight)].name"),
    ("string", ".spec.parts[?(@.weight==0.5)].name"),
    ("string", ".spec.parts[?(@.tags[0]=='t')].name"),
    ("string", ".spec.text[?(@.a=='b')]"),
    ("string", ".spec.parts[?(@.name=~'a')].name"),
    ("string", "."),
    ("string", ".spec"),
    ("string", ".metadata.labels.example\\.com/a"),
    ("string", ".metadata.labels['example\\.com/a']"),
    ("string", ".metadata.name"),
    ("string", ".kind"),
    ("integer", ".spec.whole"),
    ("integer", ".spec.fraction"),
    ("integer", ".spec.text"),
    ("integer", ".spec.numbers[1]"),
    ("integer", ".spec.nothing"),
    ("number", ".spec.whole"),
    ("number", ".spec.fraction"),
    ("number", ".spec.large"),
    ("number", ".spec.yes"),
    ("boolean", ".spec.yes"),
    ("boolean", ".spec.parts[1].on"),
    ("boolean", ".spec.text"),
    ("date", ".spec.when"),
    ("date", ".spec.noWhen"),
    ("date", ".spec.emptyWhen"),
    ("date", ".spec.whole"),
    ("date", ".spec.missing"),
    ("date", ".metadata.creationTimestamp"),
    # The first that cannot be read takes the rest with it on a real server.
    ("string", ".spec.list[x]"),
]


@pytest.fixture(scope="module")
def group(oracle: Oracle) -> Iterator[str]:
    """The group of a definition with all these columns."""
    name = f"{oracle.unique('columns')}.example.com"
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    columns = [{"name": f"C{at}", "type": kind, "jsonPath": where} for at, (kind, where) in enumerate(COLUMNS)]
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": name,
        "scope": "Cluster",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [version | {"additionalPrinterColumns": columns}],
    }
    oracle.made(DEFINITIONS, {"metadata": {"name": f"things.{name}"}, "spec": spec})
    yield name
    oracle.remove(f"{DEFINITIONS}/things.{name}")


def real_rows(oracle: Oracle, group: str) -> list[dict[str, Any]]:
    """The rows of the one object, once the kind is served."""
    where = f"/apis/{group}/v1/things"
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "spec": SPEC}
    thing["metadata"] = {"name": "a", "labels": {"example.com/a": "label"}}
    oracle.until(lambda: oracle.ask("POST", where, thing)[0] == 201)
    rows: list[dict[str, Any]] = oracle.ask("GET", where, accept=TABLE, includeObject="Object")[1]["rows"]
    return rows


def test_cells_are_those_of_the_real_server(oracle: Oracle, group: str) -> None:
    (row,) = real_rows(oracle, group)
    columns = tuple({"type": kind, "jsonPath": where} for kind, where in COLUMNS)
    now = oracle.now(COLUMNS)
    # Ages may have become more while the answer was on its way.
    all_ours = [custom_cells(columns, row["object"], now - timedelta(seconds=late)) for late in range(60)]
    differing = [
        (COLUMNS[at], real, ours)
        for at, (real, *ours) in enumerate(zip(row["cells"][1:], *all_ours, strict=False))
        if real not in ours
    ]
    assert differing == []


@each("path", [".a[", ".a[x]", ".a[?(@.b", ".a[?(@.b=~1)]", "range", ".a[?(@.b==1.2.3)]"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(PathError):
        parse(path)


@each(
    ("path", "found"),
    [(".map.*", ["<&>", "2"]), ("..name", ["a", "b"]), (".parts[*].*", ["a", "b"])],
)
def test_maps_are_gone_through_in_their_order(path: str, found: list[object]) -> None:
    value = {"map": {"a": "<&>", "b": "2"}, "parts": [{"name": "a"}, {"name": "b"}]}
    assert parse(path).find(value) == found


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
)
PATHS = st.lists(
    st.sampled_from([*".abc[]?()@$'\"*:,=<>!-01 \\{}", "..", "[?(@.", "==", "true", "[0]", ".a"]), max_size=12
)


@given(VALUES, PATHS, st.sampled_from(["string", "integer", "number", "boolean", "date"]))
def test_no_path_and_no_object_break_a_table(value: Any, path: list[str], kind: str) -> None:
    (cell,) = custom_cells(({"type": kind, "jsonPath": "." + "".join(path)},), {"a": value}, datetime.now(UTC))
    assert cell is None or isinstance(cell, str | int | float)


@each("path", [".a[" + "9" * 5000 + "]", ".a" + "[?(@.b" * 3000, "." + "['a'," * 3000, ".." * 3000])
def test_paths_of_any_length_are_read_or_refused(path: str) -> None:
    assert custom_cells(({"type": "string", "jsonPath": path},), {"a": {"b": []}}, datetime.now(UTC)) == [None]


def test_an_object_of_any_depth_has_its_row() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert custom_cells(({"type": "string", "jsonPath": ".."},), deep, datetime.now(UTC)) == [None]
