"""The CustomResourceDefinition of an addon's kind: made of `addon.yaml`, of the schema of the kind's own fields in
`openapi/spec.yaml`, and of what all addons have in common (`definition_schemas.py`).

    read_definitions(addon)   # those to apply: one, those of crds/, or nothing

Made instead of written, so that no kind lacks the status, its subresource or a column.
"""

from collections.abc import Iterator, Mapping

from hookrunner import safe_files
from hookrunner.addons.files.definition_parts import APPROVAL
from hookrunner.addons.files.definition_schemas import SELECTABLE_FIELDS, columns, spec_properties, status_schema
from hookrunner.addons.instance_fields import SHAPES
from hookrunner.charts.chart_files import read_crds
from hookrunner.errors import BadAddon, BadChart
from hookrunner.model.addons import CATEGORY, Addon
from hookrunner.values.schemas.schema_files import SPEC
from hookrunner.values.section import READ_ONLY
from kubetypes import yaml_values
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

_UNAPPROVED = "unapproved, this kind is made by hookrunner from an addon"
PROTECTED = (".k8s.io", ".kubernetes.io")
"""Ends of groups that belong to Kubernetes."""

_NOT_AT_ROOT = ("$ref", "additionalProperties", "patternProperties", "items", "nullable", "default")
_ROOT_OF_OBJECT = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object"},
}


def read_definitions(addon: Addon) -> list[JSON]:
    """The definitions to apply for an addon: none if someone else does. Raises BadAddon."""
    match addon.object.crd:
        case "generated":
            return [make_definition(addon, read_spec_schema(addon))]
        case "file":
            return _read_files(addon)
        case "external":
            return []


def read_object_schema(addon: Addon) -> JSON:
    """The schema of the addon's objects in the version that is offered, {} if someone else defines the kind. Raises
    BadAddon."""
    definitions = [crd for crd in read_definitions(addon) if crd["metadata"].get("name") == addon.object.crd_name]
    versions = [version for crd in definitions for version in crd["spec"].get("versions") or ()]
    schemas = [version.get("schema") or {} for version in versions if version.get("name") == addon.object.version]
    return schemas[0].get("openAPIV3Schema") or {} if schemas else {}


def read_spec_schema(addon: Addon) -> dict[str, JSON]:
    """The schema of the kind's own fields, checked; without the file it has no fields. Raises BadAddon with everything
    that is wrong. The API server checks the rest when the definition is applied."""
    path = addon.directory / SPEC
    try:
        schemas = list(yaml_values.documents(safe_files.read(path), yaml_values.YAML_1_2))
    except FileNotFoundError:
        return {"type": "object"}
    except OSError as error:
        raise BadAddon(f"{path}: cannot be read: {error.strerror}") from None
    except BadDocument as error:
        raise BadAddon(f"{path}: {error}") from None
    if len(schemas) != 1 or not isinstance(schemas[0], dict):
        raise BadAddon(f"{path}: must hold one schema, which is an object such as `type: object`")
    if problems := list(_schema_problems(schemas[0])):
        raise BadAddon(f"{path}: " + "; ".join(problems))
    return schemas[0]


def make_definition(addon: Addon, spec_schema: Mapping[str, JSON]) -> JSON:
    """The definition of an addon's kind."""
    kind = addon.object
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns(),
        "selectableFields": list(SELECTABLE_FIELDS),
        "schema": {"openAPIV3Schema": _object_schema(addon, spec_schema)},
    }
    metadata: dict[str, JSON] = {"name": kind.crd_name}
    if kind.group.endswith(PROTECTED):
        metadata["annotations"] = {APPROVAL: _UNAPPROVED}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {"group": kind.group, "names": _names(addon), "scope": kind.scope, "versions": [version]},
    }


def _names(addon: Addon) -> JSON:
    kind = addon.object
    names: dict[str, JSON] = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "categories": [CATEGORY],
    }
    return names | ({"shortNames": list(kind.short_names)} if kind.short_names else {})


def _object_schema(addon: Addon, spec_schema: Mapping[str, JSON]) -> JSON:
    """The whole object. `spec` is required if the kind has required fields: the schema of an absent one is not
    checked."""
    spec = {**spec_schema, "properties": spec_properties(addon) | (spec_schema.get("properties") or {})}
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": {**_ROOT_OF_OBJECT, "spec": spec, "status": status_schema()},
    }
    if addon.description:
        schema["description"] = addon.description
    return schema | ({"required": ["spec"]} if spec_schema.get("required") else {})


def _schema_problems(schema: Mapping[str, JSON]) -> Iterator[str]:
    if schema.get("type") != "object":
        yield "/type must be object: a spec has fields"
    for keyword in _NOT_AT_ROOT:
        if keyword in schema:
            yield f"/{keyword} cannot be used here; write `properties` with a schema for each field"
    properties = schema.get("properties") or {}
    if not isinstance(properties, dict):
        yield "/properties must be a schema for each field"
        return
    for name in properties:
        if name in SHAPES:
            yield f"/properties/{name} is a field that every addon has; use another name"
        elif name == READ_ONLY:
            yield f"/properties/{name} is what hookrunner says about the instance in its values; use another name"


def _read_files(addon: Addon) -> list[JSON]:
    """The definitions in `crds/`, among which must be that of the addon's kind."""
    try:
        definitions = read_crds(addon.directory, ())
    except BadChart as error:
        raise BadAddon(str(error)) from None
    if addon.object.crd_name not in [crd["metadata"].get("name") for crd in definitions]:
        raise BadAddon(
            f"{addon.directory / 'crds'}: has no definition {addon.object.crd_name}; add it, or correct `object` in "
            "addon.yaml"
        )
    return definitions
