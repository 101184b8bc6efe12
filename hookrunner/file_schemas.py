"""Reads a file of a user by its JSON Schema: what is wrong with its content, in words, and the values with defaults.

    schema = FileSchema.load("hookrunner.modules", "module.schema.json")
    problems = list(schema.problems(document))
    values = schema.with_defaults(document)

The schema is the one that editors use. Beside its rules it has the words of the messages, as editors show them:

    examples             of a required key: what to write if it is missing
    patternErrorMessage  what to write if a text does not fit. A pattern without one is for editors alone: code judges
                         such a text, and has more to say
    errorMessage         the whole message, if a value or a key does not fit

Only what our schemas need is read: `type`, `enum`, `required`, bounds, `items`, `properties`, `additionalProperties`,
`propertyNames`, `pattern` with `maxLength`, `anyOf` of two types, and `$ref` to a definition in the same file. Unknown
keys are an error only where `additionalProperties` is false.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import resources

import orjson

from hookrunner.shapes import (
    ANY_VALUE,
    FLAG,
    TEXT,
    TEXTS,
    Integer,
    Many,
    Problem,
    Shape,
    Table,
    Text,
    check,
    unknown_keys,
)
from kubetypes.json_values import JSON, equal
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True)
class FileSchema:
    """A JSON Schema (draft 2020-12) of a file."""

    document: JSON

    @classmethod
    def load(cls, package: str, name: str) -> "FileSchema":
        """The schema in a file of a package."""
        document = orjson.loads(resources.files(package).joinpath(name).read_bytes())
        return cls(_resolved(document, document.get("$defs", {})))

    @property
    def properties(self) -> Mapping[str, JSON]:
        """The schemas of the keys at the top."""
        properties: Mapping[str, JSON] = self.document["properties"]
        return properties

    @cached_property
    def _shape(self) -> Shape:
        return shape_of(self.document)

    def problems(self, document: JSON) -> Iterator[Problem]:
        """Everything that is wrong with the file's content, values of wrong types first."""
        yield from check(document, self._shape)
        yield from _misfits(document, self.document, "")

    def unknown_keys(self, document: JSON) -> Iterator[str]:
        """Keys that mean nothing, as paths, each with what may have been meant."""
        return unknown_keys(document, self._shape)

    def with_defaults(self, document: Mapping[str, JSON]) -> dict[str, JSON]:
        """The values of the known keys of a file without problems; the default of those that it does not set, if there
        is one."""
        values: dict[str, JSON] = _filled(document, self.document)
        return values


def _resolved(schema: JSON, definitions: Mapping[str, JSON]) -> JSON:
    """A schema with definitions in place of references to them; what stands beside a reference stays. No definition of
    ours refers to itself."""
    if isinstance(schema, list):
        return [_resolved(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    own = {key: _resolved(item, definitions) for key, item in schema.items() if key != "$ref"}
    if "$ref" not in schema:
        return own
    return _resolved(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions) | own


_CAPITAL = re.compile("(?=[A-Z])")


def as_fields(values: Mapping[str, JSON]) -> dict[str, JSON]:
    """Values as fields of a dataclass: `postRender` is `post_render`, lists are tuples."""
    return {
        _CAPITAL.sub("_", key).lower(): tuple(value) if isinstance(value, list) else value
        for key, value in values.items()
    }


def shape_of(schema: JSON) -> Shape:
    """The types that a schema allows. What `_misfits` judges is any value here."""
    match schema:
        case {"enum": words} if all(isinstance(word, str) for word in words):
            return Text(tuple(words))
        case {"type": "string"}:
            return TEXT
        case {"type": "boolean"}:
            return FLAG
        case {"type": "integer"}:
            return Integer(schema.get("minimum"), schema.get("maximum"))
        case {"type": "array"}:
            return Many(shape_of(schema["items"]), at_least=schema.get("minItems", 0))
        case {"type": "object", "additionalProperties": {"type": "string"}}:
            return TEXTS
        case {"type": "object"}:
            properties = schema.get("properties", {})
            required = {key: _flow(properties[key]["examples"][0]) for key in schema.get("required", ())}
            shapes = {key: shape_of(inner) for key, inner in properties.items()}
            is_open = schema.get("additionalProperties") is not False
            return Table(shapes, required, schema.get("minProperties", 0), open=is_open)
    return ANY_VALUE


def _flow(value: JSON) -> str:
    """A value as YAML in a line."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_flow(item)}' for key, item in value.items())}}}"
    return f"[{', '.join(map(_flow, value))}]" if isinstance(value, list) else str(value)


def _misfits(value: JSON, schema: JSON, path: str) -> Iterator[Problem]:
    """Values of a right type that do not fit."""
    if isinstance(value, str):
        yield from _text(value, schema, path)
    if "errorMessage" in schema and "enum" in schema and not any(equal(value, item) for item in schema["enum"]):
        yield Problem(path, schema["errorMessage"])
    for at, inner, item in _inner_values(value, schema, path):
        yield from _either(item, inner, at) if "anyOf" in inner else _misfits(item, inner, at)
    if isinstance(value, dict) and "propertyNames" in schema:
        for key in value:
            yield from _key(key, schema["propertyNames"], path)


def _text(text: str, schema: JSON, path: str) -> Iterator[Problem]:
    if not _fits(text, schema):
        if "errorMessage" in schema:
            yield Problem(path, schema["errorMessage"])
        elif "patternErrorMessage" in schema:
            yield Problem(path, f"cannot be {quoted(text)}; {schema['patternErrorMessage']}")


def _key(key: str, schema: JSON, path: str) -> Iterator[Problem]:
    if not _fits(key, schema):
        text = schema.get("errorMessage") or f"cannot have the key {quoted(key)}; {schema['patternErrorMessage']}"
        yield Problem(path, text)


def _fits(text: str, schema: JSON) -> bool:
    is_short = len(text) <= schema.get("maxLength", len(text))
    return is_short and re.search(_whole(schema.get("pattern", "")), text) is not None


def _whole(pattern: str) -> str:
    """For Python, `$` is also the place before a last line end."""
    return f"{pattern[:-1]}\\Z" if pattern.endswith("$") else pattern


def _inner_values(value: JSON, schema: JSON, path: str) -> Iterator[tuple[str, JSON, JSON]]:
    """What is inside of a list or map, with paths and schemas. Keys that are no names stand in quotes."""
    if isinstance(value, list) and "items" in schema:
        yield from ((f"{path}[{index}]", schema["items"], item) for index, item in enumerate(value))
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key, item in value.items():
            if key in properties:
                yield f"{path}.{key}".removeprefix("."), properties[key], item
            elif others:
                yield f"{path}.{key}" if "type" in others else f"{path}[{quoted(key)}]", others, item


_PYTHON_TYPES = {"object": dict, "array": list, "string": str}


def _either(value: JSON, schema: JSON, path: str) -> Iterator[Problem]:
    """What is wrong with a value by the one of several schemas that is of its type; without an `errorMessage` for a
    value of another type, by the first."""
    of_type = (inner for inner in schema["anyOf"] if isinstance(value, _PYTHON_TYPES[inner["type"]]))
    inner = next(of_type, None if "errorMessage" in schema else schema["anyOf"][0])
    if inner is None:
        yield Problem(path, schema["errorMessage"])
        return
    yield from check(value, shape_of(inner), path)
    yield from _misfits(value, inner, path)


def quoted(text: str) -> str:
    """A text for a message, unless it is long or has characters that cannot be printed."""
    return f"'{text}'" if len(text) <= 100 and text.isprintable() else f"a text of {len(text)} characters"


def _filled(value: JSON, schema: JSON) -> JSON:
    """A value with the defaults of its schema at every level, without keys that the schema does not know."""
    if isinstance(value, list):
        return [_filled(item, schema["items"]) for item in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    known = {key: value.get(key, inner.get("default")) for key, inner in schema["properties"].items()}
    return {
        key: _filled(item, schema["properties"][key])
        for key, item in known.items()
        if key in value or "default" in schema["properties"][key]
    }
