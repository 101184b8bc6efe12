"""Results of a provider held against the JSON Schemas that its author has: what does not fit, and keys that look like
slips.

The readers of answers are the judges of what counts; the schemas also describe what the readers let pass.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hookrunner import redaction
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.schemas import answer_schema, request_schema
from hookrunner.cloud.provider.verbs import VERBS
from hookrunner.shapes import suggestion
from hookrunner.values.schemas.node import Node
from hookrunner.values.schemas.schema import CheckMode, problems
from hookrunner.values.schemas.schema_reader import Reader, SchemaDocuments
from kubetypes.json_values import JSON

_PLACE = re.compile(r" \(\S*#\S*\)$")
_LONGEST_KEY = 60


def find_schema_problems(verb: AnyVerb, result: JSON) -> list[str]:
    """What in a result does not fit the schema of its verb, as sentences."""
    found = problems(_result_node(verb), result, "result", CheckMode(closed=False))
    return [_PLACE.sub("", text) for text in found]


def find_misspelled(verb: AnyVerb, result: JSON) -> list[str]:
    """Keys of a result that mean nothing, and look like some that do. Others are allowed."""
    known = _names_in(answer_schema(verb))
    unknown = sorted(set(_keys(result, _free_objects(verb))) - _known_keys())
    return [f"'{key[:_LONGEST_KEY]}' means nothing{hint}" for key in unknown if (hint := suggestion(key, known))]


@cache
def _result_node(verb: AnyVerb) -> Node:
    schema = answer_schema(verb)
    reader = Reader(SchemaDocuments(Path(), "schema", schema), "schema")
    return reader.node(schema["oneOf"][0]["properties"]["result"], "schema#/oneOf/0/properties/result")


@cache
def _known_keys() -> frozenset[str]:
    """The keys that mean something to any verb: an answer may repeat what a request had."""
    return frozenset(name for verb in VERBS for name in _names_in([answer_schema(verb), request_schema(verb)]))


def _names_in(schemas: JSON) -> list[str]:
    return [name for schema in _schemas(schemas) for name in schema["properties"]]


@cache
def _free_objects(verb: AnyVerb) -> frozenset[str]:
    """Objects whose keys are the provider's own."""
    return frozenset(
        name
        for schema in _schemas(answer_schema(verb))
        for name, inner in schema["properties"].items()
        if isinstance(inner, dict) and isinstance(inner.get("additionalProperties"), dict)
    )


def _schemas(value: JSON) -> Iterator[dict[str, JSON]]:
    return (schema for schema in redaction.maps(value) if isinstance(schema.get("properties"), dict))


def _keys(value: JSON, free: frozenset[str]) -> Iterator[str]:
    """All keys at any depth, but those that are the provider's own."""
    if isinstance(value, list):
        for item in value:
            yield from _keys(item, free)
    if isinstance(value, dict):
        yield from value
        for name, item in value.items():
            if name not in free:
                yield from _keys(item, free)
