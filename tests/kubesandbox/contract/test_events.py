"""Events have two faces, `v1` and `events.k8s.io/v1`. Level: control plane."""

from typing import Any

import pytest

from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.objects import JSON, at

TIME = "2026-01-01T00:00:00.000000Z"


def old(ns: str, name: str = "") -> str:
    return at("events", ns, name)


def new(ns: str, name: str = "") -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{ns}/events" + (f"/{name}" if name else "")


def in_v1(name: str, ns: str, **content: Any) -> JSON:
    return {"metadata": {"name": name}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": ns}, **content}


def in_new(name: str, ns: str, **content: Any) -> JSON:
    about = {"kind": "Pod", "name": "p", "namespace": ns}
    known = {"reason": "R", "action": "A", "type": "Normal", "note": "said", "eventTime": TIME}
    by = {"reportingController": "example.com/c", "reportingInstance": "i"}
    return {"metadata": {"name": name}, "regarding": about, **known, **by, **content}


def content(obj: JSON) -> JSON:
    """Without what the server gives."""
    return {key: value for key, value in obj.items() if key != "metadata"}


@pytest.mark.parametrize(
    "more",
    [{}, {"message": "said", "count": 3, "source": {"component": "c"}, "firstTimestamp": "2026-01-01T00:00:00Z"}],
    ids=["least", "more"],
)
def test_an_event_of_v1_is_shown_by_the_other_group(api: Api, ns: str, name: str, more: JSON) -> None:
    api.post(old(ns), in_v1(name, ns, **more))
    about = {"kind": "Pod", "name": "p", "namespace": ns}
    assert content(api.get(new(ns, name))) == {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "eventTime": None,
        "regarding": about,
        "deprecatedSource": more.get("source", {}),
        "deprecatedFirstTimestamp": more.get("firstTimestamp"),
        "deprecatedLastTimestamp": None,
        **({"note": "said", "deprecatedCount": 3} if more else {}),
    }


def test_an_event_of_the_other_group_is_shown_by_v1(api: Api, ns: str, name: str) -> None:
    api.post(new(ns), in_new(name, ns))
    shown = api.get(old(ns, name))
    assert (shown["apiVersion"], shown["message"], shown["reportingComponent"]) == ("v1", "said", "example.com/c")
    assert shown["involvedObject"] == {"kind": "Pod", "name": "p", "namespace": ns}
    assert (shown["source"], shown["firstTimestamp"], shown["eventTime"]) == ({}, None, TIME)


@pytest.mark.slow
def test_both_groups_list_watch_and_select_the_same(api: Api, name: str) -> None:
    ns = api.namespace()
    api.post(old(ns), in_v1(f"{name}-a", ns, reason="R"))
    api.post(new(ns), in_new(f"{name}-b", ns))
    for path, field in ((old(ns), "involvedObject.name"), (new(ns), "regarding.name")):
        listed = api.get(f"{path}?fieldSelector={field}%3Dp%2Creason%3DR")
        assert [one["metadata"]["name"] for one in listed["items"]] == [f"{name}-a", f"{name}-b"]
        with api.watch(f"{path}?watch=1") as watch:
            assert {next(watch)["object"]["apiVersion"] for _ in "ab"} == {listed["apiVersion"]}


def test_what_one_group_changes_and_deletes_the_other_shows(api: Api, ns: str, name: str) -> None:
    api.post(new(ns), in_new(name, ns))
    api.patch(old(ns, name), {"count": 5})
    assert api.get(new(ns, name))["deprecatedCount"] == 5
    assert api.request("POST", old(ns), in_v1(name, ns)).status == 409
    api.delete(old(ns, name))
    assert api.request("GET", new(ns, name)).status == 404
