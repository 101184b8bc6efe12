"""JSON Schemas of each request and answer of the wire format, for authors, for `cloud call --schema` and for tests.

    request_schema(INSTANCES)
    answer_schema(INSTANCES)

Each is a document of its own (draft 2020-12) that needs no other. The readers (`wire_answers.py`, `wire_results.py`) do
not use them: importing a validator would cost every start 90 ms, and its messages say less. Tests hold both against the
same samples.
"""

from collections.abc import Iterator
from functools import cache
from importlib import resources
from urllib.parse import urljoin

import orjson

from hookrunner import redaction
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.wire_requests import API_VERSION
from kubetypes.json_values import JSON

_REFERENCE = "#/$defs/"


def request_schema(verb: AnyVerb) -> JSON:
    """What the program reads on standard input for this verb."""
    params = _parts()["params"][verb.params.key]
    properties = {
        "apiVersion": {"const": API_VERSION},
        "verb": {"const": verb.name},
        "requestID": {"type": "string", "minLength": 1, "description": "Another one for each call."},
        "deadlineSeconds": {"type": "number", "description": "After so long the call is given up."},
        "cluster": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        "params": params,
    }
    about = {"description": _parts()["purposes"][verb.name]}
    schema = {**about, "type": "object", "required": list(properties), "properties": properties}
    return _document(f"request of {verb}", f"{verb}.request.schema.json", schema)


def answer_schema(verb: AnyVerb) -> JSON:
    """What the program prints on standard output for this verb. Unknown fields are ignored."""
    schema = {
        "type": "object",
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "requestID": {"type": "string", "description": "As in the request. Only `serve` needs it."},
        },
        "oneOf": [
            {"required": ["result"], "properties": {"result": _parts()["results"][verb.name], "error": False}},
            {"required": ["error"], "properties": {"error": {"$ref": f"{_REFERENCE}error"}, "result": False}},
        ],
    }
    return _document(f"answer to {verb}", f"{verb}.answer.schema.json", schema)


def _document(title: str, file: str, schema: JSON) -> JSON:
    """A schema with those definitions that it uses, under an address beside that of all."""
    head = {"$schema": _parts()["$schema"], "$id": urljoin(_parts()["$id"], file), "title": f"{API_VERSION}: {title}"}
    return {**head, **schema, "$defs": _definitions(set(_used(schema)))}


def _definitions(names: set[str]) -> dict[str, JSON]:
    """These definitions, and those that they use themselves, sorted by name."""
    known = _parts()["$defs"]
    while more := {inner for name in names for inner in _used(known[name])} - names:
        names = names | more
    return {name: known[name] for name in sorted(names)}


def _used(schema: JSON) -> Iterator[str]:
    """The names of the definitions that a schema refers to."""
    references = (inner.get("$ref") for inner in redaction.maps(schema))
    return (reference.removeprefix(_REFERENCE) for reference in references if isinstance(reference, str))


@cache
def _parts() -> JSON:
    """The file: `purposes` and `results` by verb, `params` by the key of `VerbParams`, and what several share."""
    return orjson.loads(resources.files("hookrunner.cloud.provider").joinpath("wire.schema.json").read_bytes())
