"""The rules, one by one, without a server. Level: pure."""

from collections.abc import Callable
from copy import deepcopy

import pytest

from kubesandbox.fields import Write, applied, settled, updated
from kubesandbox.kinds import Kinds
from kubesandbox.status import Refused
from kubetypes.json_values import JSON
from tests.kubesandbox.fields.widgets import widget, widget_kind
from tests.tables import each

WIDGET = widget_kind("x.test")
FIRST, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"


def stated(**spec: JSON) -> JSON:
    return widget("x.test", spec)


def applied_by(manager: str, live: JSON, config: JSON, *, force: bool = False, time: str = LATER) -> JSON:
    return applied(live, config, WIDGET, Write(manager, time), force)


def owners(obj: JSON) -> dict[str, JSON]:
    return {one["manager"]: one["fieldsV1"] for one in obj["metadata"].get("managedFields", ())}


def test_a_create_owns_all_but_what_the_server_gives() -> None:
    made = updated(None, widget("x.test", {"text": "a"}, labels={"a": "b"}, uid="u"), WIDGET, Write("m", FIRST))
    assert made["metadata"]["managedFields"] == [
        {
            "manager": "m",
            "operation": "Update",
            "apiVersion": "x.test/v1",
            "time": FIRST,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {".": {}, "f:text": {}}},
        }
    ]


def test_an_update_takes_what_it_changes_and_leaves_the_rest() -> None:
    live = updated(None, stated(text="a", flag=True), WIDGET, Write("m", FIRST))
    new = updated(live, {**live, "spec": {"text": "b"}}, WIDGET, Write("n", LATER))
    assert owners(new) == {"m": {"f:spec": {}}, "n": {"f:spec": {"f:text": {}}}}


def test_appliers_share_a_value_on_which_they_agree() -> None:
    live = applied_by("b", applied_by("a", None, stated(text="x")), stated(text="x"))
    assert owners(live) == {"a": {"f:spec": {"f:text": {}}}, "b": {"f:spec": {"f:text": {}}}}


def test_an_applier_that_disagrees_is_refused_with_every_field_and_owner() -> None:
    live = applied_by("a", None, stated(text="x", ports=[{"port": 1, "name": "a"}]))
    live = updated(live, {**live, "spec": {**live["spec"], "flag": True}}, WIDGET, Write("m", FIRST))
    with pytest.raises(Refused) as refused:
        applied_by("b", live, stated(text="y", flag=False, ports=[{"port": 1, "name": "b"}]))
    assert refused.value.message == (
        'Apply failed with 3 conflicts: conflicts with "a":\n- .spec.text\n- .spec.ports[port=1,protocol="TCP"].name\n'
        'conflicts with "m" using x.test/v1:\n- .spec.flag'
    )
    assert {(one.reason, one.message) for one in refused.value.causes} == {
        ("FieldManagerConflict", 'conflict with "a"'),
        ("FieldManagerConflict", 'conflict with "m" using x.test/v1'),
    }


def test_force_takes_what_is_fought_for() -> None:
    live = applied_by("b", applied_by("a", None, stated(text="x", flag=True)), stated(text="y"), force=True)
    assert live["spec"] == {"text": "y", "flag": True}
    assert owners(live) == {"a": {"f:spec": {"f:flag": {}}}, "b": {"f:spec": {"f:text": {}}}}


def test_a_field_no_longer_stated_goes_unless_another_manager_owns_it() -> None:
    live = applied_by("a", None, stated(text="x", flag=True, set=["a", "b"]))
    live = applied_by("b", live, stated(flag=True, set=["b"]))
    assert applied_by("a", live, stated(replicas=1))["spec"] == {"flag": True, "set": ["b"], "replicas": 1}


def test_applying_the_same_again_changes_nothing() -> None:
    live = applied_by("a", None, stated(text="x"), time=FIRST)
    assert applied_by("a", live, stated(text="x")) == live


def test_an_apply_that_only_joins_the_owners_has_no_time() -> None:
    live = updated(None, stated(text="x"), WIDGET, Write("m", FIRST))
    joined = applied_by("a", live, stated(text="x"))
    assert [one.get("time") for one in joined["metadata"]["managedFields"]] == [None, FIRST]


def test_a_write_without_a_change_keeps_the_times() -> None:
    live = applied_by("a", None, stated(text="x"), time=FIRST)
    entry = {**live["metadata"]["managedFields"][0], "time": LATER}
    touched = {**live, "metadata": {**live["metadata"], "managedFields": [entry]}}
    assert settled(live, touched) == live
    assert settled(live, {**touched, "spec": {}})["metadata"]["managedFields"] == [entry]


@each("version", ["v9", "v2"])
def test_a_definition_without_a_version_loses_what_was_owned_in_it(version: str) -> None:
    live = applied_by("a", None, stated(text="x"))
    entry = {**live["metadata"]["managedFields"][0], "apiVersion": f"x.test/{version}"}
    live = {**live, "metadata": {**live["metadata"], "managedFields": [entry]}}
    assert bool(owners(updated(live, live, WIDGET, Write("m", LATER)))) == (version == "v2")
    if version == "v9":
        with pytest.raises(Refused, match="invalid group/version: x"):
            applied_by("a", live, stated(text="x"))


def test_a_live_object_that_no_longer_fits_is_refused_or_no_longer_tracked() -> None:
    live = applied_by("a", None, stated(text="x"))
    live = {**live, "spec": {"text": 1}}
    with pytest.raises(Refused, match=r"failed to create typed live object .*: \.spec\.text: expected string"):
        applied_by("a", live, stated(text="x"))
    assert owners(updated(live, {**live, "spec": {}}, WIDGET, Write("m", LATER))) == {}


def test_true_is_not_one() -> None:
    live = updated(None, stated(free={"x": 1}), WIDGET, Write("m", FIRST))
    new = updated(live, {**live, "spec": {"free": {"x": True}}}, WIDGET, Write("n", LATER))
    assert owners(new)["n"] == {"f:spec": {"f:free": {"f:x": {}}}}


@each("path", ["", "status", "scale"])
def test_subresources_own_for_themselves(path: str) -> None:
    live = updated(None, stated(replicas=1), WIDGET, Write("m", FIRST))
    new = {**live, "spec": {"replicas": 2}, "status": {"phase": "x"}}
    written = updated(live, new, WIDGET, Write("n", LATER, path))
    mine: JSON = {"f:status": {".": {}, "f:phase": {}}} if path == "status" else {"f:spec": {"f:replicas": {}}}
    assert owners(written)["n"] == mine
    assert {one.get("subresource", "") for one in written["metadata"]["managedFields"]} == {"", path}


def test_inputs_stay_as_they_are() -> None:
    live = applied_by("a", None, stated(text="x", ports=[{"port": 1}], struct={"a": "1"}))
    config = stated(ports=[{"port": 2, "name": "b"}])
    before = deepcopy((live, config))
    applied_by("a", live, config, force=True)
    updated(live, {**live, "spec": {}}, WIDGET, Write("m", LATER))
    assert (live, config) == before


@pytest.fixture(scope="module")
def scaled(kinds: Kinds) -> Callable[[JSON, str, int], JSON]:
    kind = kinds.get("apps", "v1", "deployments")
    assert kind is not None

    def scaled(live: JSON, manager: str, count: int) -> JSON:
        scale = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": "d"},
            "spec": {"replicas": count},
        }
        return applied(live, scale, kind, Write(manager, LATER, "scale"), False)

    return scaled


def test_a_scale_can_be_applied(scaled: Callable[[JSON, str, int], JSON]) -> None:
    entry = {"manager": "m", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1"}
    owned = {**entry, "fieldsV1": {"f:spec": {"f:replicas": {}, "f:paused": {}}}}
    live = {"metadata": {"name": "d", "managedFields": [owned]}, "spec": {"replicas": 1, "paused": True}}
    with pytest.raises(Refused, match=r'conflict with "m" using autoscaling/v1: \.spec\.replicas'):
        scaled(live, "a", 2)
    alone = {**live, "metadata": {"name": "d"}}
    assert scaled(alone, "a", 1)["spec"] == {"replicas": 1, "paused": True}
    assert set(owners(scaled(alone, "a", 1))) == {"a", "before-first-apply"}
