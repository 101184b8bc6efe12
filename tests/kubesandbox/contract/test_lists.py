"""Lists: in pages, at a revision, of one namespace or of all. Level: control plane."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.objects import at, config_map


@pytest.fixture(scope="module")
def five(api: Api) -> str:
    """A namespace with the ConfigMaps a to e."""
    namespace = api.namespace()
    for name in "abcde":
        api.post(at("configmaps", namespace), config_map(name, labels={"half": "first" if name < "c" else "second"}))
    return namespace


def names(listed: dict[str, Any]) -> str:
    return "".join(item["metadata"]["name"] for item in listed["items"])


def pages(api: Api, path: str, limit: int) -> Iterator[dict[str, Any]]:
    page = api.get(f"{path}?limit={limit}")
    yield page
    while token := page["metadata"].get("continue"):
        page = api.get(f"{path}?limit={limit}&continue={token}")
        yield page


def test_a_list_has_the_kind_of_list_and_a_resource_version(api: Api, five: str) -> None:
    listed = api.get(at("configmaps", five))
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert int(listed["metadata"]["resourceVersion"]) >= max(
        int(item["metadata"]["resourceVersion"]) for item in listed["items"]
    )


def test_items_of_a_list_of_a_built_in_kind_do_not_repeat_their_kind(api: Api, five: str) -> None:
    assert all("kind" not in item and "apiVersion" not in item for item in api.get(at("configmaps", five))["items"])


def test_items_of_a_list_of_a_custom_kind_say_their_kind(api: Api, ns: str, name: str) -> None:
    kind = api.kind()
    api.post(kind.path(ns), kind.object(name))
    listed = api.get(kind.path(ns))
    assert listed["kind"] == "ThingList"
    assert {(item["kind"], item["apiVersion"]) for item in listed["items"]} == {("Thing", f"{kind.group}/v1")}


def test_items_come_in_the_order_of_their_names(api: Api, ns: str, name: str) -> None:
    made = [f"{name}-{last}" for last in ("c", "a", "b-1", "b", "b1")]
    for each in made:
        api.post(at("configmaps", ns), config_map(each, labels={"case": name}))
    listed = api.get(at("configmaps", ns) + f"?labelSelector=case={name}")
    assert [item["metadata"]["name"] for item in listed["items"]] == sorted(made)


def test_pages_hold_everything_once(api: Api, five: str) -> None:
    assert [names(page) for page in pages(api, at("configmaps", five), 2)] == ["ab", "cd", "e"]


def test_pages_say_how_many_items_remain(api: Api, five: str) -> None:
    remaining = [page["metadata"].get("remainingItemCount") for page in pages(api, at("configmaps", five), 2)]
    assert remaining == [3, 1, None]


def test_pages_of_a_selector_do_not_say_how_many_remain(api: Api, five: str) -> None:
    page = api.get(at("configmaps", five) + "?limit=1&labelSelector=half=second")
    assert names(page) == "c"
    assert page["metadata"]["continue"]
    assert "remainingItemCount" not in page["metadata"]


def test_a_limit_that_is_not_reached_leaves_nothing_to_continue(api: Api, five: str) -> None:
    assert "continue" not in api.get(at("configmaps", five) + "?limit=5")["metadata"]


def test_pages_show_what_was_when_the_first_was_asked_for(api: Api) -> None:
    path = at("configmaps", api.namespace())
    for name in "abc":
        api.post(path, config_map(name))
    first = api.get(f"{path}?limit=1")
    api.delete(f"{path}/b")
    api.post(path, config_map("d"))
    rest = api.get(f"{path}?limit=5&continue={first['metadata']['continue']}")
    assert names(rest) == "bc"
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_page_may_have_another_size_than_the_first(api: Api, five: str) -> None:
    first = api.get(at("configmaps", five) + "?limit=1")
    assert names(api.get(at("configmaps", five) + f"?limit=3&continue={first['metadata']['continue']}")) == "bcd"


def test_a_list_at_an_exact_revision_shows_what_was_then(api: Api) -> None:
    path = at("configmaps", api.namespace())
    then = api.post(path, config_map("a", {"k": "old"}))["metadata"]["resourceVersion"]
    api.patch(f"{path}/a", {"data": {"k": "new"}})
    api.post(path, config_map("b"))
    listed = api.get(f"{path}?resourceVersion={then}&resourceVersionMatch=Exact")
    assert [item["data"]["k"] for item in listed["items"]] == ["old"]
    assert listed["metadata"]["resourceVersion"] == then


def test_a_list_not_older_than_a_revision_holds_it(api: Api) -> None:
    path = at("configmaps", api.namespace())
    then = api.post(path, config_map("a"))["metadata"]["resourceVersion"]
    listed = api.get(f"{path}?resourceVersion={then}&resourceVersionMatch=NotOlderThan")
    assert names(listed) == "a"
    assert int(listed["metadata"]["resourceVersion"]) >= int(then)


def test_a_list_at_a_revision_without_a_match_is_not_older(api: Api) -> None:
    path = at("configmaps", api.namespace())
    then = api.post(path, config_map("a"))["metadata"]["resourceVersion"]
    api.post(path, config_map("b"))
    assert names(api.get(f"{path}?resourceVersion={then}")).startswith("a")


def test_a_limited_list_at_a_revision_is_exact(api: Api) -> None:
    path = at("configmaps", api.namespace())
    then = api.post(path, config_map("a"))["metadata"]["resourceVersion"]
    api.post(path, config_map("b"))
    assert names(api.get(f"{path}?resourceVersion={then}&limit=5&resourceVersionMatch=Exact")) == "a"


def test_a_list_from_the_future_is_refused_with_a_timeout(api: Api, five: str) -> None:
    now = int(api.get(at("configmaps", five))["metadata"]["resourceVersion"])
    reply = api.request("GET", at("configmaps", five) + f"?resourceVersion={now + 1_000_000}")
    assert (reply.status, reply.body["reason"]) == (504, "Timeout")
    assert reply.body["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]


def test_a_get_from_the_future_is_refused_with_a_timeout(api: Api, five: str) -> None:
    now = int(api.get(at("configmaps", five))["metadata"]["resourceVersion"])
    reply = api.request("GET", at("configmaps", five, "a") + f"?resourceVersion={now + 1_000_000}")
    assert (reply.status, reply.body["reason"]) == (504, "Timeout")


def test_a_get_at_revision_zero_gives_any_state(api: Api, five: str) -> None:
    assert api.get(at("configmaps", five, "a") + "?resourceVersion=0")["metadata"]["name"] == "a"


def test_a_list_of_all_namespaces_holds_those_of_each(api: Api, name: str) -> None:
    spaces = sorted([api.namespace(), api.namespace()])
    for space in spaces:
        api.post(at("configmaps", space), config_map(name, labels={"case": name}))
    listed = api.get(at("configmaps") + f"?labelSelector=case={name}")
    assert [item["metadata"]["namespace"] for item in listed["items"]] == spaces


def test_a_list_of_all_namespaces_comes_in_pages(api: Api, name: str) -> None:
    for space in sorted([api.namespace(), api.namespace()]):
        for last in "ab":
            api.post(at("configmaps", space), config_map(f"{name}-{last}", labels={"case": name}))
    path = at("configmaps") + f"?labelSelector=case={name}&limit=3"
    first = api.get(path)
    assert len(first["items"]) == 3
    assert len(api.get(f"{path}&continue={first['metadata']['continue']}")["items"]) == 1


def test_an_empty_list_has_a_revision_too(api: Api) -> None:
    listed = api.get(at("secrets", api.namespace()))
    assert listed["items"] == []
    assert int(listed["metadata"]["resourceVersion"]) > 0


def test_one_counter_numbers_the_changes_of_all_kinds(api: Api, ns: str, name: str) -> None:
    first = api.post(at("configmaps", ns), config_map(name))
    second = api.post(at("secrets", ns), {"metadata": {"name": name}})
    third = api.patch(at("configmaps", ns, name), {"data": {"a": "b"}})
    versions = [int(each["metadata"]["resourceVersion"]) for each in (first, second, third)]
    assert versions == sorted(set(versions))


def test_a_change_that_changes_nothing_keeps_the_revision(api: Api, ns: str, name: str) -> None:
    made = api.post(at("configmaps", ns), config_map(name, {"a": "b"}))
    for same in (
        api.put(at("configmaps", ns, name), made),
        api.patch(at("configmaps", ns, name), {"data": {"a": "b"}}),
        api.patch(at("configmaps", ns, name), [], "json-patch"),
    ):
        assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_a_name_wins_over_generate_name(api: Api, ns: str, name: str) -> None:
    made = api.post(at("configmaps", ns), {"metadata": {"name": name, "generateName": "gen-"}})
    assert (made["metadata"]["name"], made["metadata"]["generateName"]) == (name, "gen-")


def test_a_name_again_has_another_uid(api: Api, ns: str, name: str) -> None:
    first = api.post(at("configmaps", ns), config_map(name))
    api.delete(at("configmaps", ns, name))
    assert api.post(at("configmaps", ns), config_map(name))["metadata"]["uid"] != first["metadata"]["uid"]


def test_an_object_of_one_megabyte_is_kept(api: Api, ns: str, name: str) -> None:
    api.post(at("configmaps", ns), config_map(name, {"a": "x" * 1_000_000}))
    assert len(api.get(at("configmaps", ns, name))["data"]["a"]) == 1_000_000


def test_a_config_map_above_one_mebibyte_is_refused(api: Api, ns: str, name: str) -> None:
    reply = api.request("POST", at("configmaps", ns), config_map(name, {"a": "x" * (1024 * 1024 + 1)}))
    assert (reply.status, reply.body["reason"]) == (422, "Invalid")
    assert [(cause["reason"], cause["message"]) for cause in reply.body["details"]["causes"]] == [
        ("FieldValueTooLong", "Too long: may not be more than 1048576 bytes")
    ]


def test_a_body_above_three_mebibytes_is_refused(api: Api, ns: str, name: str) -> None:
    reply = api.request("POST", at("configmaps", ns), config_map(name, {"a": "x" * (3 * 1024 * 1024)}))
    assert (reply.status, reply.body["reason"]) == (413, "RequestEntityTooLarge")
