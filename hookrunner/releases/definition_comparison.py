"""Whether a CustomResourceDefinition in the cluster is in sync with one in a file, and what it becomes if not. Pure.

The API server fills in names and leaves out empty and unknown fields, so both are compared in a form without these
differences. A false difference would only cost a write that changes nothing.
Source: https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/
"""

from kubetypes.json_values import JSON

_RAW = frozenset({"default", "enum", "example", "x-kubernetes-validations"})
_MAPS = frozenset({"properties", "patternProperties", "definitions"})
_SCHEMAS = frozenset({"items", "additionalProperties", "additionalItems", "not"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf"})
_WORDS = """description type format title nullable externalDocs required dependencies pattern multipleOf maximum minimum
    exclusiveMaximum exclusiveMinimum maxLength minLength maxItems minItems uniqueItems maxProperties minProperties
    x-kubernetes-preserve-unknown-fields x-kubernetes-embedded-resource x-kubernetes-int-or-string
    x-kubernetes-list-map-keys x-kubernetes-list-type x-kubernetes-map-type"""
_OTHERS = frozenset(_WORDS.split())
_VERSION = ("name", "served", "storage", "deprecated", "deprecationWarning", "subresources", "selectableFields")


def merged(existing: JSON, wanted: JSON) -> JSON | None:
    """The existing definition with the desired changes; None if it is in sync.

    Labels and annotations are added to the existing ones. A conversion by webhook that is set in the cluster stays.
    """
    before, spec = existing["metadata"], _spec(existing, wanted)
    parts = {part: before.get(part) or {} for part in ("labels", "annotations")}
    wanted_parts = {part: parts[part] | (wanted["metadata"].get(part) or {}) for part in parts}
    if wanted_parts == parts and comparable(existing) == comparable(wanted | {"spec": spec}):
        return None
    return existing | {"metadata": before | wanted_parts, "spec": spec}


def _spec(existing: JSON, wanted: JSON) -> JSON:
    """The desired spec, with the conversion that applies."""
    here = existing["spec"].get("conversion") or {}
    kept = here.get("strategy", "None") != "None" or not wanted["spec"].get("conversion")
    return wanted["spec"] | ({"conversion": here} if kept and here else {})


def comparable(crd: JSON) -> JSON:
    """A definition in a form for comparison."""
    spec = crd["spec"]
    kind = spec["names"]["kind"]
    names = {"singular": kind.lower(), "listKind": f"{kind}List"} | _without_empty(spec["names"])
    versions = [_version(version) for version in spec["versions"]]
    conversion = spec.get("conversion") or {"strategy": "None"}
    untyped = bool(spec.get("preserveUnknownFields"))
    return [spec["group"], spec.get("scope"), names, versions, _with_port(conversion), untyped]


def _version(version: JSON) -> JSON:
    columns = [_column(column) for column in version.get("additionalPrinterColumns") or ()]
    schema = _schema((version.get("schema") or {}).get("openAPIV3Schema"))
    return _without_empty({key: version.get(key) for key in _VERSION} | {"columns": columns}) | {"schema": schema}


def _column(column: JSON) -> JSON:
    return {key: value for key, value in _without_empty(column).items() if (key, value) != ("priority", 0)}


def _with_port(conversion: JSON) -> JSON:
    webhook = conversion.get("webhook") or {}
    address = webhook.get("clientConfig") or {}
    if not address.get("service"):
        return conversion
    service = {"port": 443} | address["service"]
    return conversion | {"webhook": webhook | {"clientConfig": address | {"service": service}}}


def _without_empty(value: JSON) -> JSON:
    """A map without empty values, which the server leaves out. 0 and {} are not empty."""
    return {key: below for key, below in value.items() if not _empty(below)}


def _empty(value: JSON) -> bool:
    return value is None or value is False or value == "" or value == []


def _schema(schema: JSON) -> JSON:
    """A JSON schema without keywords that the API server does not know."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: below for key in _RAW if (below := schema.get(key)) is not None}
    kept |= _without_empty({key: schema[key] for key in _OTHERS & schema.keys()})
    kept |= _without_empty({key: _schema(schema[key]) for key in _SCHEMAS & schema.keys()})
    kept |= {key: [_schema(inner) for inner in schema[key]] for key in _LISTS & schema.keys() if schema[key]}
    maps = {key: schema[key] for key in _MAPS & schema.keys() if schema[key]}
    return kept | {key: {name: _schema(inner) for name, inner in below.items()} for key, below in maps.items()}
