"""What becomes of a definition's names, as a real API server decides it: the second does not get what is taken.

Level: control plane."""

from typing import Any

from kubesandbox.structural.definitions import definition, definition_status
from tests.fakes import objects
from tests.kubesandbox.oracle import Oracle
from tests.kubesandbox.structural.widgets import CRDS, Raw
from tests.tables import each

THEN = "2026-01-01T00:00:00Z"
LATER = "2026-01-02T00:00:00Z"
FIRST = {"plural": "cats", "kind": "Cat", "shortNames": ["c"], "categories": ["all", "pets"]}
SECOND: list[Raw] = [
    {"plural": "dogs", "kind": "Dog", "shortNames": ["d"]},
    {"plural": "dogs", "kind": "Cat"},
    {"plural": "dogs", "kind": "Dog", "singular": "cat"},
    {"plural": "dogs", "kind": "Dog", "shortNames": ["d", "c", "cats"]},
    {"plural": "dogs", "kind": "Dog", "listKind": "CatList"},
    {"plural": "dogs", "kind": "CatList", "singular": "c", "shortNames": ["cat"]},
]


def _definition(said: Raw, group: str) -> Raw:
    made: Raw = objects.definition(group, said["kind"], "v1", schema={"type": "object"}, scope="Cluster", names=said)
    return made


def _plain(status: Any) -> Any:
    conditions = [{key: one[key] for key in one if key != "lastTransitionTime"} for one in status["conditions"]]
    return status | {"conditions": sorted(conditions, key=lambda one: str(one["type"]))}


def _settled(oracle: Oracle, name: str) -> Raw:
    """A definition's status, once the controllers are done with it."""

    def status() -> Any:
        there: Raw = oracle.ask("GET", f"{CRDS}/{name}")[1]["status"]
        reasons = {one["type"]: one["reason"] for one in there.get("conditions") or []}
        is_done = reasons.get("Established") in ("InitialNamesAccepted", "NotAccepted") and "NamesAccepted" in reasons
        return there if is_done else None

    found: Raw = oracle.until(status)
    return found


def _ours(said: Raw, others: list[Raw], group: str = "pets.structural.test") -> Raw:
    made: Raw = definition.defaulted(_definition(said, group))
    return made | {"status": definition_status.status(made, others, THEN)}


@each("second", SECOND, ids=str)
def test_names_are_accepted_as_by_the_api_server(oracle: Oracle, second: Raw) -> None:
    group = f"{oracle.unique(second)}.structural.test"
    bodies = [_definition(FIRST, group), _definition(second, group)]
    theirs = []
    try:
        for body in bodies:
            oracle.made(CRDS, body)
            theirs.append(_settled(oracle, body["metadata"]["name"]))
    finally:
        for body in bodies:
            oracle.remove(f"{CRDS}/{body['metadata']['name']}")
    first = _ours(FIRST, [], group)
    ours = [first["status"], _ours(second, [first], group)["status"]]
    assert [_plain(one) for one in ours] == [_plain(one) for one in theirs]


def test_a_name_is_taken_only_within_its_group() -> None:
    other = _ours(FIRST, [], "other.structural.test")
    assert _ours(FIRST, [other])["status"]["acceptedNames"]["kind"] == "Cat"


def test_what_stays_true_keeps_its_time() -> None:
    first = _ours(FIRST, [])
    again = definition_status.status(first, [first], LATER)
    assert again == first["status"]


def test_a_version_in_which_objects_may_be_stored_is_remembered() -> None:
    first = _ours(FIRST, [])
    first["spec"]["versions"][0]["name"] = "v2"
    assert definition_status.stored_versions(first) == ["v1", "v2"]
