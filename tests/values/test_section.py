"""Which value wins, with the real schemas: layer order, nulls, and what is shared instead of copied. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.errors import BadValues
from hookrunner.model.modules import GLOBAL
from hookrunner.model.operations import ValuesOperation
from hookrunner.values import config_sections
from hookrunner.values.schemas import schema_files
from hookrunner.values.section import merged
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from tests.tables import each

CONFIG = """
type: object
required: [name]
properties:
  name: {type: string}
  limits:
    type: object
    default: {cpu: 1, memory: 2}
    properties: {cpu: {type: integer}, memory: {type: integer}}
"""
VALUES = """
x-extend: {schema: config-values.yaml}
type: object
properties:
  internal: {type: object, default: {}, properties: {ready: {type: boolean}}, x-required-for-helm: [ready]}
"""


@pytest.fixture
def store(tmp_path: Path) -> SectionStore:
    """A module `foo` with the schemas above, and a global section that may have no keys at all."""
    (tmp_path / "openapi").mkdir()
    (tmp_path / "openapi/config-values.yaml").write_text(CONFIG)
    (tmp_path / "openapi/values.yaml").write_text(VALUES)
    closed = tmp_path / "global"
    (closed / "openapi").mkdir(parents=True)
    (closed / "openapi/values.yaml").write_text("type: object")
    return SectionStore(
        {"foo": {}}, {"foo": schema_files.load(tmp_path, "foo"), GLOBAL: schema_files.load(closed, GLOBAL)}
    )


@each(
    ("low", "high", "found"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"b": 1, "c": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"b": 1}}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": 1}, {"a": None}, {"a": None}),
        ({"a": {}}, {"a": {}}, {"a": {}}),
        ({}, {"a": 1}, {"a": 1}),
    ],
)
def test_maps_are_merged_and_all_else_is_replaced(low: JSON, high: JSON, found: JSON) -> None:
    assert merged(low, high) == found


def test_merging_leaves_its_layers_alone_and_shares_what_one_has() -> None:
    low, high = {"a": {"b": 1}, "c": {"d": [1]}}, {"a": {"e": 2}}
    both = merged(low, high)
    assert (low["a"], high["a"]) == ({"b": 1}, {"e": 2})
    assert both["c"] is low["c"]


def test_a_user_overrides_a_part_of_a_default(store: SectionStore) -> None:
    store.adopt(config_sections.parse({"foo": "name: x\nlimits: {cpu: 3}"}), None, {"foo"})
    assert store.config("foo") == {"name": "x", "limits": {"cpu": 3}}
    assert store.effective("foo") == {"name": "x", "limits": {"cpu": 3, "memory": 2}, "internal": {}}


def test_schemas_judge_what_users_hooks_and_templates_may_see(store: SectionStore) -> None:
    refused = store.adopt(config_sections.parse({"foo": "limits: {cpu: x}"}), None, {"foo"}).refused["foo"]
    assert len(refused.problems) == 2
    store.adopt(config_sections.parse({"foo": "name: x"}), None, {"foo"})
    with pytest.raises(BadValues, match="ready"):
        store.for_helm("foo")
    with pytest.raises(BadValues, match="unknown"):
        store.patch("foo", [ValuesOperation("add", "/foo/unknown", 1)])
    store.patch("foo", [ValuesOperation("add", "/foo/internal/ready", True)])
    store.for_helm("foo")


def test_no_schema_of_global_minds_the_enabled_modules(store: SectionStore) -> None:
    store.enabled_modules(["foo"])
    assert store.files(GLOBAL).values == b'{"global":{"enabledModules":["foo"]}}'
    with pytest.raises(BadValues, match="other"):
        store.patch(GLOBAL, [ValuesOperation("add", "/global/other", 1)])
    store.for_helm(GLOBAL)
