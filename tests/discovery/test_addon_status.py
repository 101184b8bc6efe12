"""The status of an `Addon`, from its components. Level: pure."""

import orjson

from hookrunner.discovery.addon_status import MOST_REFERENCES, make_status, own_part, phase_of
from hookrunner.discovery.components import Component, ComponentHealth, keep_conditions
from hookrunner.model.addon_status import ObjectStatusWord
from hookrunner.model.resources import ObjectKey
from hookrunner.releases.health.object_status import CURRENT, NOT_FOUND, ObjectHealth, failed, in_progress
from kubetypes.json_values import JSON

WAITS = in_progress("LessReady", "0 of 1 replicas are ready")
EARLIER, NOW = "2026-07-01T12:00:00Z", "2026-07-01T13:00:00Z"


def part(name: str, health: ObjectHealth = CURRENT) -> Component:
    return Component("apps/v1", ObjectKey("default", "Deployment", name), health)


def status(*components: Component, present: JSON = None, versions: tuple[str, ...] = ()) -> JSON:
    return make_status("web", components, versions, present, NOW)


def test_phase_is_that_of_all_components_together() -> None:
    rows: dict[tuple[ObjectStatusWord, ...], str] = {
        ("Current", "Current"): "Current",
        ("Current", "InProgress"): "InProgress",
        ("InProgress", "Unknown"): "Unknown",
        ("Unknown", "Failed", "InProgress"): "Failed",
        ("Current", "Terminating"): "InProgress",
        ("Current", "NotFound"): "InProgress",
    }
    assert {words: phase_of([part("a", ObjectHealth(word)) for word in words]) for words in rows} == rows


def test_references_are_in_order_with_status_and_conditions() -> None:
    condition = {"type": "Available", "status": "True", "reason": "Yes", "lastTransitionTime": EARLIER}
    made = status(part("b", WAITS), part("a", ComponentHealth("Current", conditions=keep_conditions([condition]))))
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default"}
    assert made["components"]["refs"] == [
        reference | {"name": "a", "status": "Current", "conditions": [condition]},
        reference | {"name": "b", "status": "InProgress", "message": "0 of 1 replicas are ready"},
    ]
    assert made["components"]["current"] == "1/2"
    expression = {"key": "discovery.addons.k8s.io/web", "operator": "Exists"}
    assert made["components"]["labelSelector"] == {"matchExpressions": [expression]}


def test_missing_object_counts_and_is_no_reference() -> None:
    made = status(part("a"), part("b", NOT_FOUND))
    assert [ref["name"] for ref in made["components"]["refs"]] == ["a"]
    assert (made["components"]["current"], made["phase"]) == ("1/2", "InProgress")
    assert made["conditions"][0]["message"] == "Deployment default/b: does not exist"


def test_ready_names_first_what_makes_the_phase() -> None:
    (ready,) = status(part("a", WAITS), part("b", failed("x", "it crashes")))["conditions"]
    assert (ready["status"], ready["reason"]) == ("False", "Failed")
    assert ready["message"] == "Deployment default/b: it crashes; Deployment default/a: 0 of 1 replicas are ready"
    (ready,) = status(part("a", WAITS), part("b", ObjectHealth("Unknown")))["conditions"]
    assert (ready["status"], ready["reason"]) == ("Unknown", "Unknown")


def test_time_of_ready_stays_while_its_status_does() -> None:
    present = {"status": "False", "lastTransitionTime": EARLIER}
    assert status(part("a", WAITS), present=present)["conditions"][0]["lastTransitionTime"] == EARLIER
    assert status(part("a"), present=present)["conditions"][0]["lastTransitionTime"] == NOW


def test_versions_are_named_once_each() -> None:
    assert status(part("a"), versions=("1.2.0", "", "1.1.0", "1.2.0"))["version"] == "1.1.0, 1.2.0"


def test_large_status_has_bounds() -> None:
    """An API server takes 1.5 MiB."""
    conditions = [{"type": f"C{number}", "reason": "R" * 256, "message": "m" * 256} for number in range(10)]
    health = ComponentHealth("InProgress", "r", "é" * 5000, conditions=keep_conditions(conditions))
    made = status(*(part(f"{'n' * 240}-{number}", health) for number in range(MOST_REFERENCES + 7)))
    assert len(made["components"]["refs"]) == MOST_REFERENCES
    assert made["components"]["refs"][0]["conditions"]
    assert made["conditions"][0]["message"].endswith("; 7 components are not listed")
    assert len(orjson.dumps(made)) < 1.5 * 2**20


def test_own_part_ignores_times_and_what_others_have_added() -> None:
    mine = status(part("a"))
    later = make_status("web", [part("a")], (), None, "2026-07-02T00:00:00Z")
    others = later | {"more": 1, "conditions": [{"type": "Theirs"}, *later["conditions"]]}
    assert own_part(mine)[0] == own_part(others)[0] != own_part(status(part("b")))[0]
    assert own_part("text")[1] is own_part({"conditions": ["text"]})[1] is None
