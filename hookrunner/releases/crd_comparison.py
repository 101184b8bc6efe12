"""Does a CustomResourceDefinition in the cluster say what a file says? Pure.

The API server fills in names, leaves out what is empty and what it does not know, so the two are compared in a form
that has none of these differences. A difference too many would only cost a write that changes nothing.

https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/
"""

from hookrunner.model.resources import JSON

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
    """The existing definition with what is wanted of it; None if nothing is to change.

    Labels and annotations are added to those that are there. A conversion by webhook that is set in the cluster stays.
    """
    if said(existing) == said(wanted | {"spec": _spec(existing, wanted)}) and not _unmarked(existing, wanted):
        return None
    metadata = dict(existing["metadata"])
    for place in ("labels", "annotations"):
        metadata[place] = (metadata.get(place) or {}) | (wanted["metadata"].get(place) or {})
    return existing | {"metadata": metadata, "spec": _spec(existing, wanted)}


def _spec(existing: JSON, wanted: JSON) -> JSON:
    """What is wanted, with the conversion that holds."""
    here = existing["spec"].get("conversion") or {}
    kept = here.get("strategy", "None") != "None" or not wanted["spec"].get("conversion")
    return wanted["spec"] | ({"conversion": here} if kept and here else {})


def _unmarked(existing: JSON, wanted: JSON) -> bool:
    """Does it lack a label or an annotation?"""
    return any(
        (existing["metadata"].get(place) or {}).get(key) != value
        for place in ("labels", "annotations")
        for key, value in (wanted["metadata"].get(place) or {}).items()
    )


def said(crd: JSON) -> JSON:
    """What a definition says, in a form to compare by."""
    spec = crd["spec"]
    kind = spec["names"]["kind"]
    names = {"singular": kind.lower(), "listKind": f"{kind}List"} | _filled(spec["names"])
    versions = [_version(version) for version in spec["versions"]]
    conversion = spec.get("conversion") or {"strategy": "None"}
    untyped = bool(spec.get("preserveUnknownFields"))
    return [spec["group"], spec.get("scope"), names, versions, _with_port(conversion), untyped]


def _version(version: JSON) -> JSON:
    columns = [_column(column) for column in version.get("additionalPrinterColumns") or ()]
    schema = _schema((version.get("schema") or {}).get("openAPIV3Schema"))
    return _filled({key: version.get(key) for key in _VERSION} | {"columns": columns}) | {"schema": schema}


def _column(column: JSON) -> JSON:
    return {key: value for key, value in _filled(column).items() if (key, value) != ("priority", 0)}


def _with_port(conversion: JSON) -> JSON:
    webhook = conversion.get("webhook") or {}
    client = webhook.get("clientConfig") or {}
    if not client.get("service"):
        return conversion
    service = {"port": 443} | client["service"]
    return conversion | {"webhook": webhook | {"clientConfig": client | {"service": service}}}


def _filled(value: JSON) -> JSON:
    """A map without what is empty: the server leaves that out. A number that is 0 says something, and so does {}."""
    return {key: below for key, below in value.items() if not _empty(below)}


def _empty(value: JSON) -> bool:
    return value is None or value is False or value == "" or value == []


def _schema(schema: JSON) -> JSON:
    """A JSON schema without keywords that the API server does not know."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: below for key in _RAW if (below := schema.get(key)) is not None}
    kept |= _filled({key: schema[key] for key in _OTHERS & schema.keys()})
    kept |= _filled({key: _schema(schema[key]) for key in _SCHEMAS & schema.keys()})
    kept |= {key: [_schema(one) for one in schema[key]] for key in _LISTS & schema.keys() if schema[key]}
    maps = {key: schema[key] for key in _MAPS & schema.keys() if schema[key]}
    return kept | {key: {name: _schema(one) for name, one in below.items()} for key, below in maps.items()}
