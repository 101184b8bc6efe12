"""What the replayed writes cannot show: times, live objects that no longer fit, applied scales. Level: pure."""

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
