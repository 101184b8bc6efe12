"""Sets that were written when a schema was another one, or by hand: what is atomic now is owned as one.

https://kubernetes.io/docs/reference/using-api/server-side-apply/#compatibility-across-topology-changes
"""

from kubesandbox.fields.shapes import Shape, deduced
from kubetypes.field_sets import LEAF, SELF, Fields


def reconciled(fields: Fields, shape: Shape) -> Fields:
    """The set by the present schema; the same object if nothing changes."""
    changed = {}
    for key, node in fields.items():
        below = shape.at(key[2:]) if key.startswith("f:") else shape.item if key != SELF else None
        if node and below is not None and (now := _reconciled(node, below)) is not node:
            changed[key] = now
    return fields | changed if changed else fields


def _reconciled(node: Fields, shape: Shape) -> Fields:
    if "map" in shape.types:
        if shape.element is deduced() and not shape.fields:
            return node
        return LEAF if shape.atomic else reconciled(node, shape)
    if "list" in shape.types:
        return reconciled(node, shape) if shape.associative else LEAF
    return node
