"""What is kept of an object that belongs to an addon. Level: pure."""

from datetime import UTC, datetime
from typing import Any

from hookrunner.discovery.components import (
    LONGEST_MESSAGE,
    MOST_ADDONS,
    MOST_CONDITIONS,
    Component,
    ComponentHealth,
    addons_of,
    judge_component,
)
from hookrunner.model.resources import ObjectKey
from hookrunner.releases.health.object_status import CURRENT
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
