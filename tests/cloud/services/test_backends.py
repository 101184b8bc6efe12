"""The nodes of load balancers: which belong to them, and which changes they must hear of, row by row as upstream.

Level: pure."""

from typing import Any

from hookrunner.cloud.services.backends import (
    AUTOSCALER_TAINT,
    EXCLUDED,
    BackendSets,
    changes_backends,
    select_backends,
)
from tests.cloud.node_samples import node, projected
from tests.tables import each

LEAVES = {"key": AUTOSCALER_TAINT, "effect": "NoSchedule"}
OTHER = {"key": "other", "effect": "NoSchedule"}
ID = "sim://a"
PRESSURE = [{"type": "DiskPressure", "status": "True"}]


def named(*, excluded: str | None = None, **parts: Any) -> Any:
    labels = parts.pop("labels", {}) | ({} if excluded is None else {EXCLUDED: excluded})
    return node(**({"provider_id": ID, "labels": labels} | parts))


OUT: dict[str, Any] = {"excluded": ""}
TAINTED: dict[str, Any] = {"taints": [LEAVES]}
UNREADY: dict[str, Any] = {"ready": False}
NO_ID: dict[str, Any] = {"provider_id": ""}
NEW_ID: dict[str, Any] = {"provider_id": "sim://b"}


@each(
    "before, after, expected",
    [
        ({}, {}, False),
        ({}, OUT, True),
        (OUT, {}, True),
        (OUT, OUT, False),
        ({}, {"taints": [OTHER]}, False),
        ({"taints": [OTHER]}, {}, False),
        ({}, {"labels": {"other": ""}}, False),
        ({"labels": {"other": ""}}, {}, False),
        (UNREADY, UNREADY, False),
        (UNREADY, {"ready": None}, False),
        ({"ready": None}, UNREADY, False),
        ({"ready": None}, {"ready": None}, False),
        (UNREADY, UNREADY | {"conditions": PRESSURE}, False),
        (UNREADY | {"conditions": PRESSURE}, UNREADY, False),
        ({}, {"conditions": PRESSURE}, False),
        ({"conditions": PRESSURE}, {}, False),
        (NO_ID, {}, True),
        ({}, NO_ID, True),
        ({}, NEW_ID, True),
        (OUT, {"excluded": "false"}, True),
        ({}, {"excluded": "false"}, False),
        (OUT, {"excluded": "true"}, False),
        ({"excluded": "junk"}, {}, True),
    ],
)
def test_single_changes(before: dict[str, Any], after: dict[str, Any], expected: bool) -> None:
    for follows in (True, False):
        assert changes_backends(projected(named(**before)), projected(named(**after)), follows) is expected


@each(
    "constant, before, after, expected",
    [
        (TAINTED, {}, OUT, True),
        (TAINTED, OUT, {}, True),
        (TAINTED, NO_ID, {}, True),
        (TAINTED, {}, NO_ID, True),
        (TAINTED, {}, NEW_ID, True),
        (TAINTED, UNREADY, {}, False),
        (TAINTED, {}, UNREADY, False),
        (OUT, {}, TAINTED, False),
        (OUT, TAINTED, {}, False),
        (OUT, UNREADY, {}, False),
        (OUT, {}, UNREADY, False),
        (OUT, NO_ID, {}, True),
        (OUT, {}, NO_ID, True),
        (OUT, {}, NEW_ID, True),
        (UNREADY, {}, TAINTED, False),
        (UNREADY, TAINTED, {}, False),
        (UNREADY, {}, OUT, True),
        (UNREADY, OUT, {}, True),
        (UNREADY, NO_ID, {}, True),
        (UNREADY, {}, NO_ID, True),
        (UNREADY, {}, NEW_ID, True),
        (NO_ID, {}, OUT, True),
        (NO_ID, OUT, {}, True),
        (NO_ID, {}, {"ready": True}, False),
        (NO_ID, {}, UNREADY, False),
        (NO_ID, TAINTED, {}, False),
        (NO_ID, {}, TAINTED, False),
    ],
)
def test_changes_beside_a_constant(
    constant: dict[str, Any], before: dict[str, Any], after: dict[str, Any], expected: bool
) -> None:
    one, other = projected(named(**constant | before)), projected(named(**constant | after))
    assert changes_backends(one, other, with_autoscaler=False) is expected


def test_autoscalers_taint_is_a_change_where_that_is_on() -> None:
    plain, leaving = projected(named()), projected(named(**TAINTED))
    assert changes_backends(plain, leaving, with_autoscaler=True)
    assert changes_backends(leaving, plain, with_autoscaler=True)
    assert not changes_backends(plain, leaving, with_autoscaler=False)


def test_nodes_that_come_go_or_are_made_anew_are_changes_but_their_deletion_mark_is_none() -> None:
    known, deleting = projected(named(uid="u")), named(uid="u")
    deleting["metadata"]["deletionTimestamp"] = "2026-11-23T00:00:00Z"
    assert changes_backends(None, known, with_autoscaler=True)
    assert changes_backends(known, None, with_autoscaler=True)
    assert changes_backends(known, projected(named(uid="v")), with_autoscaler=True)
    assert not changes_backends(known, projected(deleting), with_autoscaler=True)


@each(
    "parts, expected",
    [
        ({}, True),
        (NO_ID, True),
        (UNREADY, True),
        ({"ready": None}, True),
        (OUT, False),
        ({"excluded": "false"}, True),
        ({"excluded": "0"}, True),
        ({"excluded": "true"}, False),
        ({"excluded": "junk"}, False),
        (TAINTED, False),
        ({"taints": [OTHER]}, True),
        ({"unschedulable": True}, True),
    ],
)
def test_node_is_a_backend(parts: dict[str, Any], expected: bool) -> None:
    assert bool(select_backends([projected(named(**parts))])) is expected


def test_backends_come_by_name_and_without_nodes_that_are_deleted() -> None:
    deleting = named(name="c")
    deleting["metadata"]["deletionTimestamp"] = "2026-11-23T00:00:00Z"
    nodes = [projected(named(name="b")), projected(deleting), projected(named(name="a"))]
    assert [backend.name for backend in select_backends(nodes)] == ["a", "b"]


def test_equal_sets_of_nodes_are_one_object() -> None:
    nodes, sets = [projected(named(name=name)) for name in "ab"], BackendSets()
    first = sets.select(nodes).identity
    assert sets.select(reversed(nodes)).identity is first
    assert sets.select(nodes[:1]).identity == {("a", nodes[0].provider_id)}
