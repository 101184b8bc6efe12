"""Which fields of objects Kubernetes does not know, without a cluster: those of built-in kinds that `kubetypes` has,
and of custom kinds whose definition is at hand.

The API server ignores such a field, so that a slip of the pen has no effect and no error. Of kinds of newer versions of
Kubernetes only those fields are known that they had before.
"""

from collections.abc import Iterator

from hookrunner.shapes import suggestion
from kubetypes.json_values import JSON
from kubetypes.openapi import builtin_kinds
from kubetypes.openapi.custom_kinds import CustomKinds
from kubetypes.openapi.unknown_fields import NO_CUSTOM_KINDS, UnknownField, unknown_fields

CODE = "field-unknown"


def problems(obj: JSON, custom: CustomKinds = NO_CUSTOM_KINDS) -> Iterator[tuple[UnknownField, str]]:
    """The unknown fields of an object, each with a sentence. `custom` are the kinds of `custom_kinds(definitions)`."""
    version = ".".join(builtin_kinds.document()["version"][part] for part in ("major", "minor"))
    is_custom = (str(obj.get("apiVersion")), str(obj.get("kind"))) in custom
    who = "the API server, by the definition of its kind," if is_custom else f"Kubernetes {version}"
    for unknown in unknown_fields(obj, custom):
        hint = suggestion(unknown.name, unknown.known)
        shown = f"{obj['kind']} {obj['metadata'].get('name')}"
        yield unknown, f"{shown}: {who} does not know {unknown.path} and ignores it{hint}"
