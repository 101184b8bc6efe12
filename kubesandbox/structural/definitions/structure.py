"""Is a definition's schema structural? Every value has a type, nothing is forbidden, alternatives only add rules.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from collections.abc import Iterator

from kubesandbox.status import Cause, forbidden_field, required, wrong
from kubesandbox.structural import metadata, prune
from kubesandbox.structural.checks import NOTHING, Checks
from kubesandbox.structural.complaints import Complaint, causes
from kubesandbox.structural.definitions import constructs
from kubesandbox.structural.metadata import MalformedMetadata
from kubetypes import patterns
from kubetypes.json_values import JSON
from kubetypes.openapi.schemas import Schema

INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
LEVELS = {"root": "at the root", "item": "for specified array items", "field": "for specified object fields"}
# What may stand at the root where `status` is a subresource.
ALLOWED_AT_ROOT = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength"
    " Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example"
    " XPreserveUnknownFields XValidations"
)
NOT_AT_ROOT = ("allOf", "anyOf", "oneOf", "not", "enum", "default", "nullable", "maxProperties", "minProperties")
EMPTY_IN_JUNCTION = ("type", "title", "description", "x-kubernetes-list-map-keys", "x-kubernetes-validations")
UNDEFINED_IN_JUNCTION = ("additionalProperties", "default", "x-kubernetes-list-type", "x-kubernetes-map-type")
FALSE_IN_JUNCTION = (
    "nullable",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
)


def problems(schema: JSON, field: str, *, with_status: bool) -> Iterator[Cause]:
    """What is wrong with a version's schema; `field` is where it stands."""
    if with_status:
        yield from _root_beside_status(schema, field)
    if schema.get("nullable"):
        yield forbidden_field(f"{field}.nullable", "nullable cannot be true at the root")
    if not constructs.unconvertible(schema):
        found = [*_invariants(schema, "root", field), *_complete(schema, schema, field, field)]
        found.sort(key=lambda cause: f"{cause.field}: {cause.message}")
        # The root has apiVersion, kind and metadata as embedded objects have.
        yield from found or default_problems({**schema, "x-kubernetes-embedded-resource": True}, field)
    yield from constructs.problems(schema, field)


def _root_beside_status(schema: JSON, field: str) -> Iterator[Cause]:
    if schema.get("type", "object") != "object":
        why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        yield wrong(f"{field}.type", schema["type"], why)
    elif any(schema.get(key) not in (None, [], False) for key in NOT_AT_ROOT):
        allowed = f"only [{ALLOWED_AT_ROOT}] fields are allowed at the root of the schema"
        yield wrong(field, schema, f"{allowed} if the status subresource is enabled")


def _invariants(schema: JSON, level: str, field: str) -> Iterator[Cause]:
    """Rules for the part of a schema that declares fields and types."""
    if schema.get("type") == "array" and schema.get("items") is None:
        yield required(f"{field}.items", "must be specified")
    for key, inner, below in _children(schema):
        yield from _invariants(inner, below, f"{field}.{key}")
    if level == "root" and schema.get("additionalProperties") is not None:
        yield forbidden_field(f"{field}.additionalProperties", "must not be used at the root")
    yield from _extensions(schema, field)
    yield from _values(schema, field, _skipped(schema))
    yield from _type(schema, level, field)
    yield from _metadata(schema, level, field)


def _children(schema: JSON) -> Iterator[tuple[str, JSON, str]]:
    """What is inside: how it is called in paths, its schema, its level."""
    if isinstance(schema.get("items"), dict):
        yield "items", schema["items"], "item"
    for key, inner in (schema.get("properties") or {}).items():
        yield f"properties[{key}]", inner, "field"
    if isinstance(schema.get("additionalProperties"), dict):
        yield "additionalProperties", schema["additionalProperties"], "field"


def _skipped(schema: JSON) -> str:
    """Where the `anyOf` of "integer or string" stands: `anyOf`, `allOf`, or ""."""
    if schema.get("anyOf") == INT_OR_STRING:
        return "anyOf"
    first = (schema.get("allOf") or [{}])[0]
    return "allOf" if first.get("anyOf") == INT_OR_STRING else ""


def _extensions(schema: JSON, field: str) -> Iterator[Cause]:
    if schema.get("x-kubernetes-int-or-string"):
        for key in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
            if schema.get(key):
                yield wrong(f"{field}.{key}", True, "must be false if x-kubernetes-int-or-string is true")
    if schema.get("x-kubernetes-embedded-resource"):
        if schema.get("additionalProperties") is not None:
            why = "must not be used if x-kubernetes-embedded-resource is set"
            yield forbidden_field(f"{field}.additionalProperties", why)
        if not schema.get("x-kubernetes-preserve-unknown-fields") and not schema.get("properties"):
            why = "if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
            yield required(f"{field}.properties", f"must not be empty {why}")


def _type(schema: JSON, level: str, field: str) -> Iterator[Cause]:
    kind = schema.get("type", "")
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if schema.get("x-kubernetes-embedded-resource") and kind != "object":
        why = "must be object if x-kubernetes-embedded-resource is true"
        yield wrong(f"{field}.type", kind, why) if kind else required(f"{field}.type", why)
    elif not kind and not free:
        yield required(f"{field}.type", f"must not be empty {LEVELS[level]}")
    if level == "root" and kind not in ("", "object"):
        yield wrong(f"{field}.type", kind, "must be object at the root")


def _metadata(schema: JSON, level: str, field: str) -> Iterator[Cause]:
    """apiVersion, kind and metadata are implied at the root and in embedded objects."""
    if level != "root" and not schema.get("x-kubernetes-embedded-resource"):
        return
    inside = schema.get("properties") or {}
    for key, kind in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if key in inside and inside[key].get("type", "") != kind:
            yield wrong(f"{field}.properties[{key}].type", inside[key].get("type", ""), f"must be {kind}")
    metadata = inside.get("metadata")
    if level == "root" and metadata is not None and not _plain(metadata):
        why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden_field(f"{field}.properties[metadata]", why)


def _plain(metadata: JSON) -> bool:
    """Whether a schema of metadata only restricts the names."""
    others = {key for key, value in metadata.items() if value} - {"type", "properties", "default"}
    return not others and metadata.get("properties", {}).keys() <= {"name", "generateName"}


def _values(schema: JSON, field: str, skip: str = "") -> Iterator[Cause]:
    """Rules for values: a pattern, and alternatives, in which no new things may be said."""
    if skip != "anyOf":
        for index, inner in enumerate(schema.get("anyOf") or ()):
            yield from _junction(inner, f"{field}.anyOf[{index}]")
    for index, inner in enumerate(schema.get("allOf") or ()):
        yield from _junction(inner, f"{field}.allOf[{index}]", "anyOf" if skip == "allOf" and index == 0 else "")
    for index, inner in enumerate(schema.get("oneOf") or ()):
        yield from _junction(inner, f"{field}.oneOf[{index}]")
    if schema.get("not") is not None:
        yield from _junction(schema["not"], f"{field}.not")
    yield from _pattern(schema.get("pattern") or "", f"{field}.pattern")


def _pattern(pattern: str, field: str) -> Iterator[Cause]:
    try:
        patterns.compiled(pattern)
    except patterns.InvalidInGo as error:
        yield wrong(field, pattern, f"must be a valid regular expression, but isn't: {error}")
    except patterns.NotDoneHere as error:
        yield wrong(field, pattern, f"the sandbox cannot do this: {error}")


def _junction(schema: JSON, field: str, skip: str = "") -> Iterator[Cause]:
    """A schema in `allOf`, `anyOf`, `oneOf` or `not`, or inside of one."""
    yield from _values(schema, field, skip)
    for key, inner, _ in _children(schema):
        if key != "additionalProperties":
            yield from _junction(inner, f"{field}.{key}")
    for keys, rule in (
        (EMPTY_IN_JUNCTION, "must be empty to be structural"),
        (UNDEFINED_IN_JUNCTION, "must be undefined to be structural"),
        (FALSE_IN_JUNCTION, "must be false to be structural"),
    ):
        yield from (
            forbidden_field(f"{field}.{key}", rule) for key in keys if schema.get(key) not in (None, "", [], False)
        )
    if "metadata" in (schema.get("properties") or {}):
        yield forbidden_field(f"{field}.properties[metadata]", "must not be specified in a nested context")


def _complete(rules: JSON, schema: JSON, field: str, place: str) -> Iterator[Cause]:
    """What alternatives speak of must be in the schema itself. `place` is where the alternative stands."""
    for key in ("allOf", "anyOf", "oneOf"):
        for index, inner in enumerate(rules.get(key) or ()):
            yield from _covered(inner, schema, field, f"{place}.{key}[{index}]")
    if rules.get("not") is not None:
        yield from _covered(rules["not"], schema, field, f"{place}.not")


def _covered(rules: JSON, schema: JSON, field: str, place: str) -> Iterator[Cause]:
    yield from _complete(rules, schema, field, place)
    there = {key: inner for key, inner, _ in _children(schema)}
    for key, inner, _ in _children(rules):
        if key in there:
            yield from _covered(inner, there[key], f"{field}.{key}", f"{place}.{key}")
        elif key != "additionalProperties":
            yield required(f"{field}.{key}", f"because it is defined in {place}.{key}")


# ── defaults in a schema ──────────────────────────────────────────────────────────────────────────────────────────────

# Are the defaults in a schema right? Each must be a value that its place takes, without unknown fields.
#
# https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting


def default_problems(schema: JSON, field: str) -> Iterator[Cause]:
    """What is wrong with the defaults of a schema that is structural. Defaults under `additionalProperties` are not
    checked."""
    if schema.get("default") is not None:
        yield from _of_value(schema["default"], schema, f"{field}.default")
    if isinstance(schema.get("items"), dict):
        yield from default_problems(schema["items"], f"{field}.items")
    for key, inner in (schema.get("properties") or {}).items():
        yield from default_problems(inner, f"{field}.properties[{key}]")


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
    yield from [*metadata.problems(value, schema, field)] or causes(found, field)
