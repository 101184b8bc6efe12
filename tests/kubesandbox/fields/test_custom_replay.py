"""Widgets on a real API server and here: the same writes leave the same managed fields and the same object.

Level: control plane."""

from collections.abc import Callable

import pytest

from kubetypes.json_values import JSON
from tests.kubesandbox.fields.replay import Replay, fields_of
from tests.kubesandbox.fields.widgets import widget_kind
from tests.kubesandbox.oracle import Oracle

Stated = Callable[..., JSON]


def entry(group: str, manager: str = "z", operation: str = "Update", version: str = "v1", **more: JSON) -> JSON:
    owned = {"manager": manager, "operation": operation, "apiVersion": f"{group}/{version}", "fieldsType": "FieldsV1"}
    return {**owned, "fieldsV1": {"f:spec": {"f:text": {}}}, **more}


def test_every_kind_of_list_and_map_is_owned_as_its_schema_says(replay: Replay, stated: Stated) -> None:
    first = {"text": "a", "list": ["x"], "set": ["a", "b"], "ports": [{"port": 80}], "struct": {"a": "1"}}
    maps = {"whole": {"a": "1"}, "labels": {"a": "b"}, "free": {"x": {"y": [1]}}, "half": {"known": {"a": "1"}}}
    replay.create("m", stated({**first, **maps}, labels={"x": "y"}))
    lists = {"set": ["c", "a"], "ports": [{"port": 81}, {"port": 80, "name": "x"}], "list": ["x"]}
    replay.apply("a", stated({**lists, "struct": {"b": "1"}, "labels": {"c": "d"}, "half": {"other": {"z": 1}}}))
    replay.apply("a", stated({"set": ["c"], "ports": [{"port": 81}], "labels": {}}))
    replay.apply("b", stated({"text": "b", "whole": {"b": "1"}, "list": ["y"]}))
    replay.apply("b", stated({"text": "b", "whole": {"b": "1"}, "list": ["y"]}), force=True)
    assert "whole" not in replay.apply("b", stated({}))["spec"]


def test_what_is_no_longer_applied_goes_element_by_element(replay: Replay, stated: Stated) -> None:
    replay.apply("a", stated({"structs": {"a": {"items": [{"id": 10, "text": "x"}, {"id": 9}]}}}))
    replay.apply("b", stated({"structs": {"a": {"items": [{"id": 10, "text": "y"}, {"id": 9, "text": "z"}]}}}))
    replay.apply("b", stated({"structs": {"a": {"items": [{"id": 11, "text": "y"}, {"id": 9, "text": "z"}]}}}))
    replay.apply("a", stated({"structs": {"b": {}}}))
    replay.apply("a", stated({"structs": {"b": {"items": []}}, "struct": {}, "ports": [], "labels": {}, "list": []}))
    replay.apply("b", stated({"struct": {"items": [{"id": 1}]}}))
    replay.apply("b", stated({"struct": {"items": [{"id": 1}]}}), force=True)
    assert 'spec.struct: Invalid value: "null"' in replay.apply("b", stated({"struct": {}}))["message"]


def test_an_embedded_object_has_its_metadata_owned_as_metadata(replay: Replay, stated: Stated) -> None:
    inner = {"apiVersion": "v1", "kind": "Foo", "metadata": {"name": "x", "finalizers": ["a/b"]}, "x": {"y": 1}}
    replay.apply("a", stated({"embedded": inner}))
    again = {**inner, "metadata": {"name": "x", "finalizers": ["a/c"], "labels": {"a": "b"}}}
    assert replay.apply("a", stated({"embedded": again}))["spec"]["embedded"]["metadata"]["finalizers"] == ["a/c"]


def test_null_is_a_value_that_can_be_owned(replay: Replay, stated: Stated) -> None:
    replay.create("m", stated({"maybe": None, "text": "x"}))
    replay.apply("a", stated({"maybe": "x", "either": 3}))
    replay.apply("a", stated({"maybe": "x", "either": 3}), force=True)
    assert replay.apply("a", stated({"maybe": None, "either": "3"}))["spec"]["maybe"] is None


def test_status_is_owned_through_status_only(replay: Replay, stated: Stated) -> None:
    replay.create("m", stated({"text": "x"}))
    replay.apply("a", {**stated({"text": "x"}), "status": {"phase": "x"}})
    replay.apply("a", {**stated({}, labels={"a": "b"}), "status": {"phase": "x"}}, subresource="status")
    replay.patch("s", {"status": {"conditions": [{"type": "A", "status": "x"}, {"type": "B"}]}}, "status")
    replay.apply("a", {**stated({}), "status": {"phase": "y"}}, subresource="status")
    refusal = replay.apply("b", {**stated({}), "status": {"phase": "z"}}, subresource="status")
    assert refusal["message"].endswith('conflict with "a" with subresource "status": .status.phase')


def test_writing_what_is_there_changes_nothing(replay: Replay, stated: Stated) -> None:
    replay.create("m", stated({"text": "x"}))
    replay.put("m", replay.live)
    replay.put("n", replay.live)
    replay.patch("n", {"spec": {"text": "x"}})
    replay.apply("a", stated({"text": "x"}))
    first = replay.live
    assert replay.apply("a", stated({"text": "x"})) == first
    replay.patch("m", {"spec": {"text": "y"}})
    assert {one["manager"] for one in fields_of(replay.patch("a", {"spec": {"text": "x"}}))} == {"a", "m"}


def test_untracked_fields_are_owned_before_the_first_apply(replay: Replay, stated: Stated) -> None:
    replay.create("m", stated({"text": "x", "struct": {"a": "b"}}, labels={"a": "b"}, finalizers=["a/b"]))
    replay.patch("s", {"status": {"phase": "x"}}, "status")
    replay.patch("m", {"metadata": {"managedFields": [{}]}})
    replay.patch("m", {"spec": {"text": "z"}})
    replay.apply("a", stated({"text": "x"}))
    managers = [one["manager"] for one in fields_of(replay.apply("a", stated({"text": "x"}), force=True))]
    assert managers == ["a", "before-first-apply"]
    replay.patch("m", {"metadata": {"finalizers": None}})  # so that the namespace can go


def test_the_oldest_of_many_updates_are_put_together(replay: Replay, stated: Stated) -> None:
    replay.create("m", stated({"text": "x"}))
    for number in range(13):
        replay.patch(f"m{number}", {"spec": {"labels": {f"l{number}": "x"}}})
    for number in range(4):
        replay.patch(f"n{number}", {"spec": {"labels": {f"l{number}": "y"}}})
    assert fields_of(replay.live)[0]["manager"] == "ancient-changes"
    assert len(fields_of(replay.live)) == 10


def test_versions_own_by_their_own_schemas(replay: Replay, stated: Stated, oracle: Oracle, group: str) -> None:
    replay.apply("one", stated({"text": "x", "list": ["a", "b"]}))
    newer = Replay(oracle, widget_kind(group, "v2"), replay.name)
    newer.read()
    newer.apply("two", stated({"list": ["a", "b", "c"]}, version="v2"))
    newer.apply("two", stated({"list": ["a", "b", "c"]}, version="v2"), force=True)
    newer.apply("one", stated({"text": "x"}, version="v2"))
    newer.patch("three", {"spec": {"list": ["q"]}})
    replay.read()
    replay.apply("two", stated({"list": ["a", "z"]}), force=True)
    assert {one["apiVersion"] for one in fields_of(replay.patch("s", {"status": {"phase": "q"}}, "status"))} == {
        f"{group}/v1",
        f"{group}/v2",
    }


def test_scale_hands_the_replica_count_around(replay: Replay, stated: Stated) -> None:
    replay.apply("a", stated({"replicas": 1, "text": "x"}))
    replay.patch("m", {"spec": {"replicas": 2, "flag": True}})
    for manager, count in (("s", 2), ("s", 3), ("t", 3), ("t", 4)):
        replay.scale(manager, count)
    replay.apply("a", stated({"replicas": 4, "text": "x"}), force=True)
    for manager, count in (("t", 4), ("m", 5), ("z", 0), ("z", 1)):
        replay.scale(manager, count)
    assert {one["manager"] for one in fields_of(replay.live)} == {"a", "m"}


FOREIGN: dict[str, JSON] = {
    "taken as they are": [{}],
    "with a time in another zone": [{"time": "2020-01-01T00:00:00+02:00"}],
    "an apply": [{"operation": "Apply"}],
    "no such operation": [{"operation": "Foo"}],
    "no type": [{"fieldsType": ""}],
    "an unknown type": [{"fieldsType": "V2"}],
    "no version": [{"apiVersion": ""}],
    "no manager": [{"manager": ""}],
    "no path elements": [{"fieldsV1": {"spec": {}}}],
    "unknown path elements": [{"fieldsV1": {"x:spec": {}}}],
    "a broken key": [{"fieldsV1": {"f:spec": {"f:ports": {"k:{": {}}}}}],
    "a key in another order": [{"fieldsV1": {"f:spec": {"f:ports": {'k:{"protocol":"TCP", "port":80}': {".": {}}}}}}],
    "nothing owned": [{"fieldsV1": {}}],
    "nothing and something owned": [{"fieldsV1": {}}, {"manager": "y"}],
    "no fields": [{"fieldsV1": None}],
    "a leaf that is no object": [{"fieldsV1": {"f:spec": {"f:text": 3}}}],
    "a leaf that is null": [{"fieldsV1": {"f:spec": {"f:text": None}}}],
    "a list": [{"fieldsV1": [1]}],
    "numbers": [{"fieldsV1": {"f:spec": {"f:numbers": {"v:1.0": {}, "v:10": {}}}}}],
    "members that say so": [{"fieldsV1": {".": {}, "f:spec": {".": {}, "f:text": {".": {}}}}}],
    "below what is atomic": [{"fieldsV1": {"f:spec": {"f:whole": {"f:a": {}}, "f:list": {"i:3": {}}}}}],
    "fields that there are not": [{"fieldsV1": {"f:spec": {"f:nosuch": {"f:x": {}}}}}],
    "twice the same": [{}, {"fieldsV1": {"f:spec": {"f:ports": {}}}}],
    "a subresource": [{"subresource": "status"}],
    "another version": [{"version": "v2"}],
    "no such version": [{"version": "v9"}, {"manager": "y"}],
    "another group": [{"apiVersion": "v1"}, {"manager": "y"}],
}


@pytest.mark.parametrize("name", FOREIGN)
def test_managed_fields_that_a_client_sends(replay: Replay, stated: Stated, group: str, name: str) -> None:
    replay.create("m", stated({"text": "x", "ports": [{"port": 80}, {"port": 443}], "numbers": [1, 10, 9]}))
    entries = [entry(group, **one) for one in FOREIGN[name]]
    replay.put("n", {**replay.live, "metadata": {**replay.live["metadata"], "managedFields": entries}})
    replay.apply("a", stated({"text": "x"}))
    replay.apply("a", stated({"text": "y"}))


@pytest.mark.parametrize("entries", [[], [{}]])
def test_an_empty_entry_clears_them_and_an_empty_list_does_not(
    replay: Replay, stated: Stated, entries: list[JSON]
) -> None:
    replay.create("m", stated({"text": "x"}))
    after = replay.put("n", {**replay.live, "metadata": {**replay.live["metadata"], "managedFields": entries}})
    assert (fields_of(after) is None) == (entries == [{}])


WRONG: list[JSON] = [
    {"text": 3},
    {"nosuch": 1},
    {"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]},
    {"set": ["a", "a"]},
    {"set": [None]},
    {"set": [["a"]]},
    {"set": [{"a": 1}]},
    {"ports": {}},
    {"ports": [3]},
    {"ports": [None]},
    {"struct": {"items": [{"text": "x"}]}},
    {"struct": {"nosuch": 1}},
    {"flag": "x"},
    {"replicas": "x"},
    {"replicas": True},
    {"list": "x"},
    {"labels": [1]},
    {"text": {"a": [1, None, True, 1.5], "b": "x"}},
]


@pytest.mark.parametrize("spec", WRONG, ids=str)
def test_what_the_schema_does_not_allow_is_refused_in_the_same_words(
    replay: Replay, stated: Stated, spec: JSON
) -> None:
    assert replay.apply("a", stated(spec))["code"] == 500


@pytest.mark.parametrize("wrong", [{"kind": "Other"}, {"apiVersion": "v1"}, {"managed": []}, {"managed": [{}]}])
def test_a_configuration_of_another_kind_or_with_managed_fields_is_refused(
    replay: Replay, stated: Stated, wrong: JSON
) -> None:
    managed = {"managedFields": wrong["managed"]} if "managed" in wrong else {}
    config = {**stated({"text": "x"}, **managed), **{key: one for key, one in wrong.items() if key != "managed"}}
    assert replay.apply("a", config)["code"] == 400
