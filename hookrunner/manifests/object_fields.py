"""Which fields of objects Kubernetes does not know, without a cluster: those of built-in kinds that `kubetypes` has.

The API server ignores such a field, so that a slip of the pen has no effect and no error. Of custom kinds nothing is
known here, and of kinds of newer versions of Kubernetes only what they had before.
"""

from collections.abc import Iterator

from hookrunner.shapes import suggestion
from kubetypes.json_values import JSON
from kubetypes.openapi import builtin_kinds
from kubetypes.openapi.unknown_fields import UnknownField, unknown_fields

CODE = "field-unknown"


def problems(obj: JSON) -> Iterator[tuple[UnknownField, str]]:
    """The unknown fields of an object, each with a sentence."""
    version = ".".join(builtin_kinds.document()["version"][part] for part in ("major", "minor"))
    for unknown in unknown_fields(obj):
        hint = suggestion(unknown.name, unknown.known)
        shown = f"{obj['kind']} {obj['metadata'].get('name')}"
        text = f"{shown}: Kubernetes {version} does not know {unknown.path} and ignores it{hint}"
        yield unknown, text
