"""Tables: every cell as a real API server fills it, for objects with much to show. Level: control plane."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from kubesandbox.columns.tables import PRINTERS, cells, table
from kubesandbox.kinds import Kind, Kinds, builtin
from tests.controlplane.kinds_data import TABLE, path
from tests.kubesandbox.oracle import Oracle
from tests.tables import each

OBJECTS = (Path(__file__).parent / "rich_objects.yaml").read_text().split("\n---\n")
KINDS = Kinds(builtin())
MERGE = "application/merge-patch+json"
NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


def title(text: str) -> str:
    obj = yaml.load(text, yaml.CSafeLoader)
    return f"{obj['kind']}-{obj['metadata']['name']}"


def kind_of(obj: dict[str, Any]) -> Kind:
    found = KINDS.of_kind(obj["apiVersion"], obj["kind"])
    assert found is not None
    return found


def shown(oracle: Oracle, method: str, where: str, obj: dict[str, Any]) -> dict[str, Any]:
    """The row with which a real server answers to a dry run."""
    sent = {"content_type": MERGE} if method == "PATCH" else {}
    _, answer = oracle.ask(method, where, obj, accept=TABLE, dryRun="All", includeObject="Object", **sent)
    row: dict[str, Any] = answer["rows"][0]
    return row


@contextmanager
def kept(oracle: Oracle, collection: str, obj: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """An object that is there for a while."""
    made = oracle.made(collection, obj)
    try:
        yield made
    finally:
        oracle.remove(f"{collection}/{made['metadata']['name']}", is_held=True)


def collection_of(kind: Kind, namespace: str) -> str:
    scope = f"/namespaces/{namespace}" if kind.namespaced else ""
    return f"/{path(kind.group, kind.version)}{scope}/{kind.plural}"


def real_row(oracle: Oracle, obj: dict[str, Any]) -> dict[str, Any]:
    """The row of an object with its status, for which it has to be there."""
    collection = collection_of(kind_of(obj), oracle.namespace)
    if "status" not in obj:
        return shown(oracle, "POST", collection, obj)
    with kept(oracle, collection, obj) as made:
        where = f"{collection}/{made['metadata']['name']}/status"
        return shown(oracle, "PATCH", where, {"status": obj["status"]})


@each("text", OBJECTS, ids=title)
def test_cells_are_those_of_the_real_server(oracle: Oracle, text: str) -> None:
    obj = yaml.safe_load(text.replace("NAMESPACE", oracle.namespace).replace("NAME", oracle.unique(text)))
    row = real_row(oracle, obj)
    now = oracle.now(text)
    # Ages may have become some seconds more while the answer was on its way.
    ours = [cells(kind_of(obj), row["object"], now - timedelta(seconds=late)) for late in range(5)]
    differing = [(real, same[0]) for real, *same in zip(row["cells"], *ours, strict=True) if real not in same]
    assert differing == []


@each("kind", ["Pod", "PersistentVolumeClaim", "Job"])
def test_what_is_being_deleted_says_so_as_on_the_real_server(oracle: Oracle, kind: str) -> None:
    obj = next(yaml.load(text, yaml.CSafeLoader) for text in OBJECTS if f"kind: {kind}\n" in text and "status:" in text)
    obj["metadata"] = {"name": oracle.unique(kind), "finalizers": ["example.com/hold"]}
    collection = collection_of(kind_of(obj), oracle.namespace)
    with kept(oracle, collection, obj) as made:
        where = f"{collection}/{made['metadata']['name']}"
        oracle.ask("DELETE", where, {"gracePeriodSeconds": 0})
        _, answer = oracle.ask("GET", where, accept=TABLE, includeObject="Object")
    row = answer["rows"][0]
    assert "Terminating" in row["cells"]
    assert cells(kind_of(obj), row["object"], oracle.now(kind))[:4] == row["cells"][:4]


def test_every_printed_kind_has_an_example() -> None:
    examples = {kind_of(yaml.load(text, yaml.CSafeLoader)).stored for text in OBJECTS}
    assert PRINTERS.keys() - examples == set()


@each(("phase", "hidden"), [("Succeeded", True), ("Failed", True), ("Running", False)])
def test_rows_of_pods_that_ended_are_marked(phase: str, hidden: bool) -> None:
    made = table(kind_of({"apiVersion": "v1", "kind": "Pod"}), [{"status": {"phase": phase}}], NOW)
    assert ("conditions" in made["rows"][0]) is hidden


@each("kind", [kind for kind in builtin() if kind.served], ids=lambda kind: kind.stored)
def test_an_object_with_nothing_in_it_still_has_its_row(kind: Kind) -> None:
    row = cells(kind, {"metadata": {"name": "a"}}, NOW)
    assert len(row) in (len(kind.columns), len(kind.columns) + 1)
