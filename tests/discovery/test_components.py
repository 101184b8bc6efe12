"""What is kept of an object that belongs to an addon. Level: pure."""

import gc
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from hookrunner.discovery.components import (
    LONGEST_MESSAGE,
    MOST_ADDONS,
    MOST_CONDITIONS,
    Component,
    ComponentHealth,
    addons_of,
    judge_component,
)
from hookrunner.model.contexts import Entry
from hookrunner.model.resources import ObjectKey
from hookrunner.releases.health.kind_health import KindHealth
from hookrunner.releases.health.object_status import CURRENT
from hookrunner.sources.snapshots import Snapshot
from kubetypes.json_values import written
from tests.fakes.objects import config_map

NOW = datetime(2026, 7, 1, tzinfo=UTC)


def judged(conditions: Any, **labels: str) -> Any:
    """The verdict about a custom object."""
    metadata = {"name": "a", "labels": labels}
    return judge_component(
        {"apiVersion": "example.com/v1", "kind": "Web", "metadata": metadata, "status": {"conditions": conditions}}, NOW
    )


def test_addons_are_those_of_the_labels_that_an_object_can_be_named_by() -> None:
    names = ("web", "dns", "My_Addon", "", "v1.2", "a..b", "a.-b", "a-.b", "a.")
    labels = {f"discovery.addons.k8s.io/{name}": "any" for name in names} | {"app": "web"}
    assert addons_of({"labels": labels}) == ("dns", "v1.2", "web")
    assert addons_of({"labels": None}) == addons_of({}) == ()


def test_object_belongs_to_a_limited_number_of_addons() -> None:
    labels = {f"discovery.addons.k8s.io/addon-{number:05}": "" for number in range(10_000)}
    assert addons_of({"labels": labels}) == tuple(f"addon-{number:05}" for number in range(MOST_ADDONS))


def test_conditions_are_kept_without_heartbeats_and_cut() -> None:
    entry = {"type": "Ready", "status": "False", "reason": "Down", "message": "x" * 999, "lastHeartbeatTime": "now"}
    health = judged([entry | {"lastTransitionTime": "t"}, *[{"type": "A"}] * 50])
    conditions = Component("v1", ObjectKey("", "Web", "a"), health).conditions
    assert len(conditions) == MOST_CONDITIONS
    shown = {"type": "Ready", "status": "False", "reason": "Down", "message": "x" * LONGEST_MESSAGE}
    assert conditions[0] == shown | {"lastTransitionTime": "t"}
    assert (health.status, health.reason) == ("InProgress", "Down")


def test_object_with_malformed_conditions_is_unknown_and_shows_none() -> None:
    for conditions in ("text", {"a": 1}, [1]):
        health = judged(conditions, **{"discovery.addons.k8s.io/web": ""})
        assert (health.status, health.conditions, health.addons) == ("Unknown", b"", ("web",))


def test_object_with_nothing_to_show_is_kept_as_its_health_alone() -> None:
    assert judge_component(config_map("a"), NOW) is CURRENT


def test_component_is_the_same_in_each_version() -> None:
    key = ObjectKey("default", "Web", "a")
    old, new = Component("example.com/v1", key, CURRENT), Component("example.com/v2", key, ComponentHealth("Failed"))
    assert old.identity == new.identity
    assert str(old) == "Web default/a"


def conditions_of(number: int) -> list[dict[str, str]]:
    """Those of one object, in texts of its own."""
    entry = {"status": "True", "reason": "MinimumReplicasAvailable", "message": f"{number} has what it needs"}
    return [
        {"type": kind, **entry, "lastTransitionTime": f"{number}"} for kind in ("Available", "Progressing", "Ready")
    ]


def known(number: int) -> ObjectKey:
    return ObjectKey("default", "Web", f"web-{number}")


def verdicts() -> object:
    kind = KindHealth("Web", 0.0, judge_component)
    for number in range(1000):
        kind.put(known(number), "1", judged(conditions_of(number), **{"discovery.addons.k8s.io/web": ""}))
    return kind


def filtered() -> object:
    """What a hook keeps whose filter is `{labels: .metadata.labels, conditions: .status.conditions}`."""
    snapshot = Snapshot()
    for number in range(1000):
        labels = {"discovery.addons.k8s.io/web": ""}
        text = written({"labels": labels, "conditions": conditions_of(number)})
        snapshot.update(Entry(known(number), None, text, mark=text))
    return snapshot


def taken(make: Callable[[], object]) -> int:
    """Bytes of memory of what this makes."""
    make()
    gc.collect()
    tracemalloc.start()
    try:
        made = make()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        del made


@pytest.mark.slow
def test_what_is_kept_takes_no_more_memory_than_in_a_hook_with_a_filter() -> None:
    assert taken(verdicts) <= taken(filtered)
