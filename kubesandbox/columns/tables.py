"""Objects as a `Table`: what kubectl shows for `get`, with the API server's columns and cells.

https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from kubesandbox.columns import cluster, custom, events, network, pods, storage, workloads
from kubesandbox.columns.parts import Cells, Object, Printer, at, name
from kubesandbox.kinds import Kind
from kubetypes.json_values import JSON

PRINTERS: dict[str, Printer] = {
    **pods.CELLS,
    **workloads.CELLS,
    **network.CELLS,
    **storage.CELLS,
    **cluster.CELLS,
    **events.CELLS,
}


def table(kind: Kind, objects: Iterable[Object], now: datetime, include: str = "Metadata") -> dict[str, Any]:
    """A `Table` of `meta.k8s.io/v1`; the list's metadata is the caller's to fill in.

    `include` is what stands beside the cells: `Metadata`, the whole `Object`, or `None`.
    """
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": [
            {key: value for key, value in column.items() if key != "jsonPath"} for column in kind.columns
        ],
        "rows": [_row(kind, obj, now, include) for obj in objects],
    }


def cells(kind: Kind, obj: Object, now: datetime) -> Cells:
    """What stands in the columns for one object. Without a printer: the name, and when it was made."""
    if kind.custom:
        return custom.custom_cells(kind.columns, obj, now)
    if printer := PRINTERS.get(kind.stored):
        return printer(obj, now)
    return [name(obj), at(obj, "metadata.creationTimestamp")]


def _row(kind: Kind, obj: Object, now: datetime, include: str) -> dict[str, JSON]:
    row: dict[str, JSON] = {"cells": cells(kind, obj, now)}
    if kind.stored == "pods" and (conditions := pods.row_conditions(obj)):
        row["conditions"] = conditions
    return {**row, "object": _beside(obj, include)}


def _beside(obj: Object, include: str) -> JSON:
    if include == "Metadata":
        return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj.get("metadata", {})}
    return obj if include == "Object" else None
