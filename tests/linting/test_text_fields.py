"""Text fields of schemas, and the texts that they take. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.linting.text_fields import SectionRules, TextField, text_fields, toggled
from hookrunner.values.schemas import schema_files
from hookrunner.values.schemas.schema import SectionSchema

SCHEMA = """
type: object
properties:
  name: {type: string, maxLength: 10}
  any: {}
  size: {type: integer}
  mode: {type: string, enum: [a, b]}
  hosts:
    type: array
    maxItems: 2
    items: {type: object, required: [host, port], properties: {host: {type: string}, port: {type: integer}}}
  labels: {type: object, additionalProperties: {type: string}}
  counts: {type: object, additionalProperties: {type: integer}}
  free: {type: object, x-kubernetes-preserve-unknown-fields: true}
  web:
    type: object
    default: {}
    properties: {on: {type: boolean}, path: {type: string, pattern: ^/}}
"""


@pytest.fixture
def schema(tmp_path: Path) -> SectionSchema:
    (tmp_path / "openapi").mkdir()
    (tmp_path / schema_files.CONFIG).write_text(SCHEMA)
    loaded = schema_files.load(tmp_path, "web").config
    assert loaded
    return loaded


def fields(schema: SectionSchema) -> dict[str, TextField]:
    return {f"key of {field}" if field.is_key else str(field): field for field in text_fields(schema.node)}


def test_texts_items_values_and_keys_of_maps_are_fields(schema: SectionSchema) -> None:
    expected = ["name", "any", "mode", "hosts[].host", "key of labels", "labels.*", "key of counts"]
    assert list(fields(schema)) == [*expected, "key of free", "free.*", "web.path"]
    assert fields(schema)["web.path"].place == "openapi/config-values.yaml#/properties/web/properties/path"


def test_a_text_is_put_where_its_field_is(schema: SectionSchema) -> None:
    section = {"hosts": [{"host": "a", "port": 1}], "web": {"on": True}}
    for name in ("name", "hosts[].host", "labels.*", "key of counts", "web.path"):
        section = fields(schema)[name].with_text(section, "/x")
    assert section == {
        "name": "/x",
        "hosts": [{"host": "a", "port": 1}, {"host": "/x", "port": 1}],
        "labels": {"lint": "/x"},
        "counts": {"/x": 1},
        "web": {"on": True, "path": "/x"},
    }
    assert schema.problems(section) == []


def test_the_schema_decides_which_texts_a_field_takes(schema: SectionSchema) -> None:
    rules = SectionRules(schema.node, schema.problems, {"hosts": [{"host": "a", "port": 1}] * 2})
    taken = {
        name: [text for text in ("a", "/a\n", "b" * 11) if field.accepts(text)]
        for name, field in fields(schema).items()
    }
    assert (taken["name"], taken["mode"], taken["web.path"]) == (["a", "/a\n"], ["a"], ["/a\n"])
    assert taken["key of free"] == ["a", "/a\n", "b" * 11]
    assert [rules.accept(fields(schema)[name], "/a") for name in ("name", "hosts[].host")] == [True, False]


def test_switches_are_turned_where_they_are(schema: SectionSchema) -> None:
    assert toggled(schema.node, {"web": {"on": True}, "name": "a"}) == {"web": {"on": False}, "name": "a"}
    assert toggled(schema.node, {"web": {}}) == {"web": {"on": True}}
