"""History that is gone: 410, and how a client gets on. PodTemplates, for there the real server shows it at once.

Level: control plane."""

from typing import Any

import pytest

from tests.kubesandbox.contract.api import Api, until
from tests.kubesandbox.contract.objects import at


@pytest.fixture
def templates(api: Api) -> str:
    """The path of three PodTemplates, a to c."""
    path = at("podtemplates", api.namespace())
    for name in "abc":
        containers = [{"name": "main", "image": "busybox"}]
        api.post(path, {"metadata": {"name": name}, "template": {"spec": {"containers": containers}}})
    return path


def changed(api: Api, path: str) -> str:
    """A revision that has a later one."""
    listed: dict[str, Any] = api.get(path)
    api.patch(f"{path}/a", {"metadata": {"labels": {"later": "yes"}}})
    version: str = listed["metadata"]["resourceVersion"]
    return version


def test_a_watch_from_a_compacted_revision_ends_with_an_error_event(api: Api, templates: str) -> None:
    old = changed(api, templates)
    api.forget()
    with api.watch(f"{templates}?watch=1&resourceVersion={old}") as events:
        (event,) = events
    assert event["type"] == "ERROR"
    assert (event["object"]["kind"], event["object"]["code"]) == ("Status", 410)
    assert event["object"]["reason"] == "Expired"
    assert event["object"]["message"].startswith("The resourceVersion for the provided watch is too old.")


def test_a_list_at_an_exact_revision_that_is_gone(api: Api, templates: str) -> None:
    old = changed(api, templates)
    api.forget()
    reply = api.request("GET", f"{templates}?resourceVersion={old}&resourceVersionMatch=Exact")
    assert (reply.status, reply.body["reason"], reply.body["code"]) == (410, "Expired", 410)


def test_a_list_not_older_than_what_is_gone_is_answered(api: Api, templates: str) -> None:
    old = changed(api, templates)
    api.forget()
    listed = api.get(f"{templates}?resourceVersion={old}&resourceVersionMatch=NotOlderThan")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a", "b", "c"]


def test_a_page_of_a_list_that_is_gone_is_refused_with_a_token_to_go_on(api: Api, templates: str) -> None:
    first = api.get(f"{templates}?limit=1")
    changed(api, templates)
    api.forget()
    reply = api.request("GET", f"{templates}?limit=1&continue={first['metadata']['continue']}")
    assert (reply.status, reply.body["reason"], reply.body["code"]) == (410, "Expired", 410)
    assert "The provided continue parameter is too old" in reply.body["message"]
    rest = api.get(f"{templates}?limit=5&continue={reply.body['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c"]
    assert int(rest["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])


def test_a_watch_that_runs_already_is_not_disturbed(api: Api, templates: str) -> None:
    start = api.get(templates)["metadata"]["resourceVersion"]
    with api.watch(f"{templates}?watch=1&resourceVersion={start}") as events:
        api.patch(f"{templates}/a", {"metadata": {"labels": {"first": "yes"}}})
        assert events.take(1) == [("MODIFIED", "a")]
        api.forget()
        api.patch(f"{templates}/b", {"metadata": {"labels": {"second": "yes"}}})
        assert events.take(1) == [("MODIFIED", "b")]


def test_the_newest_revision_is_never_gone(api: Api, templates: str) -> None:
    api.forget()
    start = until(lambda: api.get(templates)["metadata"]["resourceVersion"])
    with api.watch(f"{templates}?watch=1&resourceVersion={start}") as events:
        api.patch(f"{templates}/a", {"metadata": {"labels": {"new": "yes"}}})
        assert events.take(1) == [("MODIFIED", "a")]


def test_objects_outlive_their_history(api: Api, templates: str) -> None:
    api.forget()
    assert api.get(f"{templates}/a")["metadata"]["name"] == "a"


def test_an_old_revision_is_no_obstacle_to_an_update(api: Api, templates: str) -> None:
    made = api.get(f"{templates}/c")
    api.forget()
    assert api.put(f"{templates}/c", made | {"metadata": made["metadata"] | {"labels": {"a": "b"}}})
