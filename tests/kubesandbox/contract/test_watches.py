"""Watches: where they begin, what they tell, how they end. Level: control plane."""

import pytest

from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.objects import JSON, at, config_map, pod

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@pytest.fixture
def maps(api: Api) -> str:
    """The path of the ConfigMaps of an empty namespace."""
    return at("configmaps", api.namespace())


def version(obj: JSON) -> str:
    found: str = obj["metadata"]["resourceVersion"]
    return found


def test_from_a_revision_come_the_changes_after_it(api: Api, maps: str) -> None:
    first = api.post(maps, config_map("a"))
    api.post(maps, config_map("b"))
    api.patch(f"{maps}/a", {"data": {"k": "v"}})
    api.delete(f"{maps}/b")
    with api.watch(f"{maps}?watch=1&resourceVersion={version(first)}") as events:
        assert events.take(3) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]


def test_changes_come_as_they_happen(api: Api, maps: str) -> None:
    listed = api.get(maps)
    with api.watch(f"{maps}?watch=1&resourceVersion={version(listed)}") as events:
        api.post(maps, config_map("a"))
        assert events.take(1) == [("ADDED", "a")]
        api.patch(f"{maps}/a", {"data": {"k": "v"}})
        assert events.take(1) == [("MODIFIED", "a")]
        api.delete(f"{maps}/a")
        assert events.take(1) == [("DELETED", "a")]


@pytest.mark.parametrize("start", ["", "&resourceVersion=0", "&resourceVersion="], ids=["unset", "zero", "empty"])
def test_without_a_revision_it_begins_with_what_is_there(api: Api, maps: str, start: str) -> None:
    api.post(maps, config_map("a"))
    api.post(maps, config_map("b"))
    with api.watch(f"{maps}?watch=1{start}") as events:
        assert sorted(events.take(2)) == [("ADDED", "a"), ("ADDED", "b")]
        api.delete(f"{maps}/a")
        assert events.take(1) == [("DELETED", "a")]


def test_an_event_holds_the_whole_object(api: Api, maps: str) -> None:
    made = api.post(maps, config_map("a", {"k": "v"}))
    with api.watch(f"{maps}?watch=1") as events:
        assert next(events) == {"type": "ADDED", "object": made}


def test_a_deleted_object_has_the_revision_of_its_deletion(api: Api, maps: str) -> None:
    made = api.post(maps, config_map("a", {"k": "v"}))
    with api.watch(f"{maps}?watch=1&resourceVersion={version(made)}") as events:
        api.delete(f"{maps}/a")
        deleted = next(events)["object"]
    assert deleted["data"] == {"k": "v"}
    assert int(version(deleted)) > int(version(made))


def test_a_change_that_changes_nothing_is_no_event(api: Api, maps: str) -> None:
    made = api.post(maps, config_map("a", {"k": "v"}))
    with api.watch(f"{maps}?watch=1&resourceVersion={version(made)}") as events:
        api.put(f"{maps}/a", made)
        api.post(maps, config_map("b"))
        assert events.take(1) == [("ADDED", "b")]


def test_a_finalizer_makes_the_deletion_a_change_first(api: Api, maps: str) -> None:
    made = api.post(maps, config_map("a", finalizers=["example.com/hold"]))
    with api.watch(f"{maps}?watch=1&resourceVersion={version(made)}") as events:
        api.delete(f"{maps}/a")
        change = next(events)
        assert change["type"] == "MODIFIED"
        assert change["object"]["metadata"]["deletionTimestamp"]
        api.patch(f"{maps}/a", {"metadata": {"finalizers": None}})
        assert events.take(1) == [("DELETED", "a")]


def test_only_its_namespace_is_watched(api: Api, maps: str, ns: str, name: str) -> None:
    start = version(api.get(maps))
    with api.watch(f"{maps}?watch=1&resourceVersion={start}") as events:
        api.post(at("configmaps", ns), config_map(name))
        api.post(maps, config_map("here"))
        assert events.take(1) == [("ADDED", "here")]


def test_all_namespaces_are_watched(api: Api, maps: str, ns: str, name: str) -> None:
    start = version(api.get(maps))
    with api.watch(at("configmaps") + f"?watch=1&resourceVersion={start}&fieldSelector=metadata.name={name}") as events:
        api.post(maps, config_map(name))
        api.post(at("configmaps", ns), config_map(name))
        assert events.take(2) == [("ADDED", name)] * 2


def test_one_object_is_watched_by_its_name(api: Api, maps: str) -> None:
    start = version(api.get(maps))
    with api.watch(f"{maps}?watch=1&resourceVersion={start}&fieldSelector=metadata.name=b") as events:
        api.post(maps, config_map("a"))
        api.post(maps, config_map("b"))
        assert events.take(1) == [("ADDED", "b")]


def test_an_object_that_begins_to_match_is_added_and_one_that_ends_to_is_deleted(api: Api, maps: str) -> None:
    made = api.post(maps, config_map("a"))
    with api.watch(f"{maps}?watch=1&resourceVersion={version(made)}&labelSelector=on=yes") as events:
        for labels in ({"on": "yes"}, {"more": "x"}, {"on": "no"}, {"on": "yes"}):
            api.patch(f"{maps}/a", {"metadata": {"labels": labels}})
        types = [kind for kind, _ in events.take(4)]
    assert types == ["ADDED", "MODIFIED", "DELETED", "ADDED"]


def test_an_object_that_ends_to_match_is_shown_as_it_was_with_the_new_revision(api: Api, maps: str) -> None:
    made = api.post(maps, config_map("a", labels={"on": "yes"}))
    with api.watch(f"{maps}?watch=1&resourceVersion={version(made)}&labelSelector=on=yes") as events:
        changed = api.patch(f"{maps}/a", {"metadata": {"labels": {"on": "no"}}})
        gone = next(events)
    assert gone["type"] == "DELETED"
    assert gone["object"]["metadata"]["labels"] == {"on": "yes"}
    assert version(gone["object"]) == version(changed)


def test_an_object_that_never_matched_is_not_seen_to_go(api: Api, maps: str) -> None:
    made = api.post(maps, config_map("a"))
    with api.watch(f"{maps}?watch=1&resourceVersion={version(made)}&labelSelector=on=yes") as events:
        api.delete(f"{maps}/a")
        api.post(maps, config_map("b", labels={"on": "yes"}))
        assert events.take(1) == [("ADDED", "b")]


def test_a_field_selector_is_followed_as_the_field_changes(api: Api) -> None:
    pods = at("pods", api.namespace())
    made = api.post(pods, pod("a"))
    with api.watch(f"{pods}?watch=1&resourceVersion={version(made)}&fieldSelector=status.phase=Running") as events:
        api.patch(f"{pods}/a/status", {"status": {"phase": "Running"}})
        api.patch(f"{pods}/a/status", {"status": {"phase": "Failed"}})
        assert events.take(2) == [("ADDED", "a"), ("DELETED", "a")]


@pytest.mark.slow
def test_it_ends_when_its_time_is_over(api: Api, maps: str) -> None:
    with api.watch(f"{maps}?watch=1&timeoutSeconds=1") as events:
        assert list(events) == []


def test_the_streamed_list_ends_with_a_bookmark_that_says_so(api: Api, maps: str) -> None:
    for name in "ab":
        api.post(maps, config_map(name))
    asked = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with api.watch(f"{maps}?{asked}") as events:
        assert sorted(events.take(2)) == [("ADDED", "a"), ("ADDED", "b")]
        bookmark = next(events)
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(version(bookmark["object"])) >= int(version(api.get(f"{maps}/b")))


def test_a_bookmark_is_an_empty_object_of_the_kind(api: Api, maps: str) -> None:
    asked = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with api.watch(f"{maps}?{asked}") as events:
        bookmark = next(events)["object"]
    assert (bookmark["kind"], bookmark["apiVersion"]) == ("ConfigMap", "v1")
    assert set(bookmark["metadata"]) == {"resourceVersion", "annotations"}


def test_the_streamed_list_goes_on_as_a_watch(api: Api, maps: str) -> None:
    asked = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with api.watch(f"{maps}?{asked}") as events:
        assert next(events)["type"] == "BOOKMARK"
        api.post(maps, config_map("a"))
        assert events.take(1) == [("ADDED", "a")]


def test_the_streamed_list_obeys_selectors(api: Api, maps: str) -> None:
    api.post(maps, config_map("a"))
    api.post(maps, config_map("b", labels={"on": "yes"}))
    asked = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with api.watch(f"{maps}?{asked}&labelSelector=on=yes") as events:
        assert [kind for kind, _ in events.take(2)] == ["ADDED", "BOOKMARK"]


def test_without_initial_events_the_watch_begins_now(api: Api, maps: str) -> None:
    api.post(maps, config_map("a"))
    asked = "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    with api.watch(f"{maps}?{asked}") as events:
        api.post(maps, config_map("b"))
        changes = (event for event in events if event["type"] != "BOOKMARK")
        assert next(changes)["object"]["metadata"]["name"] == "b"


@pytest.mark.parametrize("value", ["1", "true"])
def test_a_watch_can_be_requested_in_two_ways(api: Api, maps: str, value: str) -> None:
    api.post(maps, config_map("a"))
    with api.watch(f"{maps}?watch={value}") as events:
        assert events.take(1) == [("ADDED", "a")]


@pytest.mark.parametrize("value", ["0", "false"])
def test_a_watch_that_is_off_is_a_list(api: Api, maps: str, value: str) -> None:
    assert api.get(f"{maps}?watch={value}")["kind"] == "ConfigMapList"


def test_a_custom_kind_is_watched(api: Api, ns: str, name: str) -> None:
    kind = api.kind()
    with api.watch(kind.path(ns) + "?watch=1&resourceVersion=" + version(api.get(kind.path(ns)))) as events:
        made = api.post(kind.path(ns), kind.object(name, spec={"a": 1}))
        assert next(events) == {"type": "ADDED", "object": made}


def test_a_table_sends_its_columns_only_once(api: Api, maps: str) -> None:
    api.post(maps, config_map("a"))
    with api.watch(f"{maps}?watch=1", accept=TABLE) as events:
        first = next(events)["object"]
        api.post(maps, config_map("b"))
        second = next(events)["object"]
    assert (first["kind"], second["kind"]) == ("Table", "Table")
    assert [column["name"] for column in first["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert not second["columnDefinitions"]
    assert [row["cells"][0] for row in second["rows"]] == ["b"]


def test_metadata_alone_is_watched(api: Api, maps: str) -> None:
    api.post(maps, config_map("a", {"k": "v"}))
    with api.watch(f"{maps}?watch=1", accept=METADATA) as events:
        seen = next(events)["object"]
    assert (seen["kind"], seen["metadata"]["name"]) == ("PartialObjectMetadata", "a")
    assert "data" not in seen


def test_an_applied_change_is_seen_once(api: Api, maps: str) -> None:
    start = version(api.get(maps))
    with api.watch(f"{maps}?watch=1&resourceVersion={start}") as events:
        for value in ("1", "1", "2"):
            api.apply(f"{maps}/a", config_map("a", {"k": value}))
        assert events.take(2) == [("ADDED", "a"), ("MODIFIED", "a")]


def test_a_deleted_collection_is_seen_object_by_object(api: Api, maps: str) -> None:
    for name in "ab":
        api.post(maps, config_map(name))
    start = version(api.get(maps))
    with api.watch(f"{maps}?watch=1&resourceVersion={start}") as events:
        api.delete(maps)
        assert sorted(events.take(2)) == [("DELETED", "a"), ("DELETED", "b")]


def test_a_dry_run_is_no_event(api: Api, maps: str) -> None:
    start = version(api.get(maps))
    with api.watch(f"{maps}?watch=1&resourceVersion={start}") as events:
        api.post(f"{maps}?dryRun=All", config_map("a"))
        api.post(maps, config_map("b"))
        assert events.take(1) == [("ADDED", "b")]


def test_many_watchers_see_the_same(api: Api, maps: str) -> None:
    start = version(api.get(maps))
    path = f"{maps}?watch=1&resourceVersion={start}"
    with api.watch(path) as one, api.watch(path) as two:
        api.post(maps, config_map("a"))
        assert next(one) == next(two)
