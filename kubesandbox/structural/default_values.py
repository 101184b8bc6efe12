"""Are the defaults in a schema right? Each must be a value that its place takes, without unknown fields.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting
"""

from collections.abc import Iterator

from kubesandbox.schemas import Schema
from kubesandbox.status import Cause, wrong
from kubesandbox.structural import embedded, prune
from kubesandbox.structural.checks import NOTHING, Checks
from kubesandbox.structural.found import Complaint, causes
from kubesandbox.structural.metadata import MalformedMetadata
from kubetypes.json_values import JSON


def problems(schema: JSON, field: str) -> Iterator[Cause]:
    """What is wrong with the defaults of a schema that is structural. Defaults under `additionalProperties` are not
    checked."""
    if schema.get("default") is not None:
        yield from _of_value(schema["default"], schema, f"{field}.default")
    if isinstance(schema.get("items"), dict):
        yield from problems(schema["items"], f"{field}.items")
    for key, inner in (schema.get("properties") or {}).items():
        yield from problems(inner, f"{field}.properties[{key}]")


def _of_value(value: JSON, raw: JSON, field: str) -> Iterator[Cause]:
    schema = Schema(raw)
    try:
        unknown = prune.unknown(value, schema)
    except MalformedMetadata as error:
        yield wrong(field, value, str(error))
        return
    if unknown:
        yield wrong(field, value, "must not have unknown fields")
    found: list[Complaint] = []
    Checks(raw).run(value, NOTHING, "", found)
    yield from [*embedded.problems(value, schema, field)] or causes(found, field)
