"""Updates under a schema that became stricter: old sins that did not change are forgiven, as by a real API server.

Level: control plane."""

from collections.abc import Iterator
from typing import Any

import pytest

from kubesandbox.structural import prune, validate
from kubetypes.openapi.schemas import Schema
from tests.kubesandbox.oracle import Oracle
from tests.kubesandbox.structural.widgets import CRDS, Raw, Widgets, said, told, widgets, with_fields
from tests.tables import each

TEXT = {"type": "string"}
ITEM = {"type": "object", "required": ["n"], "properties": {"n": TEXT, "v": {"type": "integer"}}}
LOOSE = with_fields(
    a=TEXT,
    b={"type": "integer"},
    o={"type": "object", "properties": {"x": TEXT, "y": TEXT}},
    plain={"type": "array", "items": ITEM},
    keyed={"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"], "items": ITEM},
    unique={"type": "array", "items": TEXT},
    more={"type": "object", "additionalProperties": TEXT},
) | {"x-kubernetes-preserve-unknown-fields": True}
LOOSE["properties"]["status"] = {"type": "object", "properties": {"phase": TEXT, "n": {"type": "integer"}}}
SHORT = TEXT | {"maxLength": 1}
SMALL = ITEM | {"properties": {"n": TEXT, "v": {"type": "integer", "maximum": 1}}}
STRICT = with_fields(
    a=SHORT,
    b={"type": "integer", "maximum": 1},
    o={"type": "object", "properties": {"x": SHORT, "y": TEXT}, "required": ["z"]},
    plain={"type": "array", "items": SMALL},
    keyed={"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"], "items": SMALL},
    unique={"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
    more={"type": "object", "additionalProperties": SHORT},
)
STRICT["properties"]["spec"]["required"] = ["never"]
STRICT["properties"]["status"] = {
    "type": "object",
    "properties": {"phase": TEXT | {"enum": ["Up"]}, "n": {"type": "integer", "maximum": 1}},
}
OLD: Raw = {
    "a": "long",
    "b": 5,
    "o": {"x": "long", "y": "y"},
    "plain": [{"n": "a", "v": 5}],
    "keyed": [{"n": "a", "v": 5}, {"n": "b", "v": 6}],
    "unique": ["a", "a"],
    "more": {"k": "long", "l": "x"},
}
CHANGES: list[dict[str, Any]] = [
    {},
    {"a": "longer"},
    {"b": 6},
    {"b": True},
    {"o": {"x": "long", "y": "changed"}},
    {"o": {"x": "longer", "y": "y"}},
    {"plain": [{"n": "a", "v": 5}, {"n": "b", "v": 0}]},
    {"plain": [{"n": "b", "v": 5}]},
    {"keyed": [{"n": "b", "v": 6}, {"n": "a", "v": 5}]},
    {"keyed": [{"n": "a", "v": 7}, {"n": "b", "v": 6}]},
    {"keyed": [{"n": "a", "v": 5}, {"n": "c", "v": 6}]},
    {"unique": ["a", "a", "a"]},
    {"more": {"k": "long", "l": "longer"}},
    {"more": {"new": "long"}},
]
STATUSES: list[Any] = [{}, {"phase": "Down"}, {"phase": "Gone"}, {"phase": "Up", "n": 7}, {"n": 5}, "x", None]


def _become_strict(definition: Any) -> None:
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = STRICT


@pytest.fixture(scope="module")
def served(oracle: Oracle) -> Iterator[Widgets]:
    """Widgets with one that was made before the schema became strict."""
    with widgets(oracle, LOOSE, subresources={"status": {}}) as served:
        made = oracle.made(served.path, served.named({"spec": OLD}))
        oracle.put(f"{served.path}/a/status", made | {"status": {"phase": "Down", "n": 5}}, known_as="made")
        path = f"{CRDS}/widgets.{served.path.split('/')[2]}"
        oracle.changed(path, _become_strict)
        oracle.until(lambda: served.theirs({"metadata": {"name": "b"}, "spec": {}}).code != 201)
        yield served


def _written(oracle: Oracle, path: str, obj: Raw, change: Any) -> Raw:
    answer: Raw = oracle.put(path, obj, dry=True, known_as=[change])[1]
    return answer


@each("change", CHANGES, ids=str)
def test_what_did_not_change_is_forgiven(oracle: Oracle, served: Widgets, change: Raw) -> None:
    old = oracle.ask("GET", f"{served.path}/a")[1]
    new = old | {"spec": OLD | change}
    schema = Schema(STRICT)
    pruned, _ = prune.pruned(new, schema)
    answer = _written(oracle, f"{served.path}/a", new, change)
    assert told(validate.problems(pruned, schema, old)) == said(answer)


@each("status", STATUSES, ids=str)
def test_a_status_is_checked_alone(oracle: Oracle, served: Widgets, status: Any) -> None:
    old = oracle.ask("GET", f"{served.path}/a")[1]
    pruned, _ = prune.pruned(old | {"status": status}, Schema(STRICT))
    answer = _written(oracle, f"{served.path}/a/status", old | {"status": status}, status)
    assert told(validate.status_problems(pruned, Schema(STRICT), old)) == said(answer)
