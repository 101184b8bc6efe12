"""Reads an object of an addon's kind as an instance: splits its `spec` into the fields that every kind has and the
kind's own.

The API server has refused wrong fields already if it has our definition. With a definition of someone else, and in
files, anything may stand in them: such an instance has `problems`, and is neither built nor removed.
"""

import re

from hookrunner import redaction
from hookrunner.addons.files.common_fields import SHAPES, field_problems, parse_fields
from hookrunner.errors import BadInput
from hookrunner.model.addons import Addon, Instance, unit_name
from hookrunner.shapes import Problem
from kubetypes.json_values import JSON

_FIRST_KEY = re.compile(r"[^.\[]+")


def read_instance(addon: Addon, document: JSON) -> Instance:
    """The instance that a complete object is, with the addon's defaults for fields that it does not set. A field that
    cannot be used is listed in `problems` and has its default."""
    metadata = document["metadata"]
    namespace = metadata.get("namespace") or ""
    spec = document.get("spec")
    wrong = [] if spec is None or isinstance(spec, dict) else [_not_a_map(spec)]
    fields = spec if isinstance(spec, dict) else {}
    common = {name: fields[name] for name in SHAPES if fields.get(name) is not None}
    wrong += field_problems(common)
    refused = {_field(problem) for problem in wrong}
    return Instance(
        unit_name(addon.name, namespace if addon.object.namespaced else "", metadata["name"]),
        addon.name,
        document,
        parse_fields({name: value for name, value in common.items() if name not in refused}, addon.defaults),
        {name: value for name, value in fields.items() if name not in SHAPES},
        tuple(f"spec.{problem}" if problem.path else f"spec {problem}" for problem in wrong),
    )


def require_kind(addon: Addon, document: JSON) -> None:
    """Raises BadInput unless this is an object of the addon's kind, in the version that is offered, with a name: for
    files, which the API server has not seen."""
    kind = addon.object
    if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
        raise BadInput(f"an instance is an object with metadata, not {redaction.described(document)}")
    if (document.get("apiVersion"), document.get("kind")) != (kind.api_version, kind.kind):
        raise BadInput(
            f"addon '{addon.name}' has instances of {kind.api_version} {kind.kind}; correct apiVersion and kind"
        )
    if not isinstance(document["metadata"].get("name"), str):
        raise BadInput(f"an instance of {kind.kind} needs metadata.name")


def _not_a_map(spec: JSON) -> Problem:
    return Problem("", f"must be a map of fields, not {redaction.described(spec)}")


def _field(problem: Problem) -> str:
    """The field that a problem is in: `patches` for `patches[0]`."""
    match = _FIRST_KEY.match(problem.path)
    return match[0] if match else ""
