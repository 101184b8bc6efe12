"""What a definition says by paths into its objects: subresources, printer columns, selectable fields.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#advanced-topics
"""

from collections.abc import Iterator, Sequence

from kubesandbox.status import Cause, duplicate, required, wrong
from kubesandbox.structural import paths
from kubetypes.json_values import JSON

TYPES = ("boolean", "date", "integer", "number", "string")
FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
MOST_SELECTABLE = 8
SELECTABLE_TYPES = ("string", "boolean", "integer")


def subresources(said: JSON, field: str) -> Iterator[Cause]:
    """The paths of the scale subresource."""
    scale = said.get("scale")
    if scale is None:
        return
    for key, root in (("specReplicasPath", "spec"), ("statusReplicasPath", "status")):
        path = scale.get(key, "")
        if not path:
            yield required(f"{field}.scale.{key}")
        elif not path.startswith("."):
            yield _not_simple(path, f"{field}.scale.{key}")
        elif not path.startswith(f".{root}."):
            yield wrong(f"{field}.scale.{key}", path, f"should be a json path under .{root}")
    selector = scale.get("labelSelectorPath") or ""
    if selector and not selector.startswith("."):
        yield _not_simple(selector, f"{field}.scale.labelSelectorPath")
    elif selector and not selector.startswith((".spec.", ".status.")):
        yield wrong(f"{field}.scale.labelSelectorPath", selector, "should be a json path under either .spec or .status")


def printer(column: JSON, field: str) -> Iterator[Cause]:
    """One of `additionalPrinterColumns`."""
    if not column.get("name"):
        yield required(f"{field}.name")
    types, formats = f"must be one of {','.join(TYPES)}", f"must be one of {','.join(FORMATS)}"
    if not column.get("type"):
        yield required(f"{field}.type", types)
    elif column["type"] not in TYPES:
        yield wrong(f"{field}.type", column["type"], types)
    if column.get("format") and column["format"] not in FORMATS:
        yield wrong(f"{field}.format", column["format"], formats)
    if not column.get("jsonPath"):
        yield required(f"{field}.JSONPath")
    elif not column["jsonPath"].startswith("."):
        yield _not_simple(column["jsonPath"], f"{field}.JSONPath")


def selectable(fields: Sequence[JSON], version: JSON, field: str) -> Iterator[Cause]:
    """`selectableFields` of a version (or of a spec whose versions all have the same)."""
    holder = version.get("versions", [version])[0] if fields else {}
    schema = (holder.get("schema") or {}).get("openAPIV3Schema") or {}
    seen: set[str] = set()
    for index, one in enumerate(fields):
        place, path = f"{field}[{index}].jsonPath", one.get("jsonPath", "")
        if not path:
            yield required(place)
            continue
        try:
            _, leaf = paths.followed(path, schema, brackets=False)
        except paths.WrongPath as error:
            yield wrong(place, path, f"is an invalid path: {error}")
            continue
        yield from _leaf(path, leaf, place)
        if path in seen:
            yield duplicate(place, path)
        seen.add(path)
    if len(seen) > MOST_SELECTABLE:
        yield Cause("FieldValueTooMany", f"Too many: {len(seen)}: must have at most {MOST_SELECTABLE} items", field)


def _leaf(path: str, leaf: JSON, place: str) -> Iterator[Cause]:
    if path.startswith(".metadata"):
        yield wrong(place, path, "must not point to fields in metadata")
    if leaf.get("type") not in SELECTABLE_TYPES:
        kinds = "string, boolean or integer. Enum string fields and strings with formats are allowed."
        yield wrong(place, path, f"must point to a field of type {kinds}")


def _not_simple(path: str, field: str) -> Cause:
    return wrong(field, path, "must be a simple json path starting with .")
