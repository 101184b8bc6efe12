"""Slips in schemas that fit every rule of JSON Schema: a misspelt keyword has no effect, and a required field that no
property describes can never be set where other fields are refused.
"""

from collections.abc import Iterator
from pathlib import Path

from hookrunner.linting.modules.module_remarks import ModuleRemark, in_yaml, read_document
from hookrunner.shapes import suggestion
from hookrunner.values import pointers
from kubetypes.json_values import JSON
from kubetypes.yaml_values import YAML_1_1

_NAMED = ("properties", "patternProperties", "definitions")
_LISTED = ("allOf", "anyOf", "oneOf")
_SINGLE = ("items", "additionalProperties", "additionalItems", "not")
_KEYWORDS = frozenset(
    (
        *(*_NAMED, *_LISTED, *_SINGLE),
        *("type", "format", "title", "description", "default", "example", "enum", "nullable", "required"),
        *(f"{bound}{what}" for bound in ("min", "max") for what in ("imum", "Length", "Items", "Properties")),
        *("exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "uniqueItems", "dependencies"),
    )
)
_OTHER = frozenset(("$ref", "$schema", "id", "externalDocs", "readOnly", "writeOnly", "deprecated", "examples"))
_OPEN = ("patternProperties", "x-extend", "$ref", *_LISTED)
"""With these, other places may say what a field is."""


def check_words(directory: Path, name: str) -> Iterator[ModuleRemark]:
    """Remarks on one schema file."""
    path = directory / name
    for pointer, schema in _schemas(read_document(path, YAML_1_1), ""):
        for key, text in (*_keywords(schema), *_required(schema)):
            yield ModuleRemark(name, in_yaml(path, f"{pointer}/{key}"), "schema-slip", f"{pointer}/{key} {text}")


def _keywords(schema: dict[str, JSON]) -> Iterator[tuple[str, str]]:
    for key in map(str, schema):
        if key not in _KEYWORDS | _OTHER and not key.startswith("x-") and (hint := suggestion(key, _KEYWORDS)):
            yield key, f"means nothing{hint}"


def _required(schema: dict[str, JSON]) -> Iterator[tuple[str, str]]:
    known, required = schema.get("properties"), schema.get("required")
    is_open = schema.get("additionalProperties") or schema.get("x-kubernetes-preserve-unknown-fields")
    if is_open or not isinstance(known, dict) or not isinstance(required, list) or any(key in schema for key in _OPEN):
        return
    for key in required:
        if key not in known:
            yield (
                "required",
                f"names {key!r}, which no property describes: nothing fits{suggestion(str(key), map(str, known))}",
            )


def _schemas(raw: JSON, pointer: str) -> Iterator[tuple[str, dict[str, JSON]]]:
    """All schemas in a schema, with their JSON pointers."""
    if not isinstance(raw, dict):
        return
    yield pointer, raw
    for key in _NAMED:
        for name, inner in raw[key].items() if isinstance(raw.get(key), dict) else ():
            yield from _schemas(inner, pointer + pointers.text((key, str(name))))
    for key in _LISTED:
        for number, inner in enumerate(raw[key] if isinstance(raw.get(key), list) else ()):
            yield from _schemas(inner, f"{pointer}/{key}/{number}")
    for key in _SINGLE:
        yield from _schemas(raw.get(key), f"{pointer}/{key}")
