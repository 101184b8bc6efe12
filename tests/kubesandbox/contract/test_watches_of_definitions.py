"""Watches of custom objects while their definition changes: what ends them, and what does not. Level: control plane."""

from typing import Any

from tests.kubesandbox.contract.api import Api, Watch, until
from tests.kubesandbox.contract.objects import CustomKind, at

HELD = {"finalizers": ["example.com/hold"]}


def path(kind: CustomKind) -> str:
    return at("customresourcedefinitions", name=kind.name)


def to_the_end(watch: Watch) -> list[tuple[str, str]]:
    """All events until the server ends the stream."""
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in watch]


def redefine(api: Api, kind: CustomKind, **version: Any) -> None:
    """Change the last version of a definition; once more if a controller was faster."""

    def changed() -> bool:
        crd = api.get(path(kind))
        crd["spec"]["versions"][-1] |= version
        return api.request("PUT", path(kind), crd).status == 200

    until(changed)


def test_a_deleted_definition_ends_it_after_the_last_object(api: Api, ns: str, name: str) -> None:
    kind = api.crd("cats")
    api.post(kind.path(ns), kind.object(name))
    with api.watch(f"{kind.path()}?watch=1") as watch:
        assert watch.take(1) == [("ADDED", name)]
        api.delete(path(kind))
        assert to_the_end(watch) == [("DELETED", name)]


def test_another_schema_ends_it(api: Api, ns: str, name: str) -> None:
    kind = api.crd("cats")
    api.post(kind.path(ns), kind.object(name))
    with api.watch(f"{kind.path()}?watch=1") as watch:
        assert watch.take(1) == [("ADDED", name)]
        redefine(api, kind, schema={"openAPIV3Schema": {"type": "object", "description": "another"}})
        assert to_the_end(watch) == []


def test_a_label_of_the_definition_does_not_end_it(api: Api, ns: str, name: str) -> None:
    kind = api.crd("cats")
    with api.watch(f"{kind.path()}?watch=1") as watch:
        api.patch(path(kind), {"metadata": {"labels": {"a": "b"}}})
        api.post(kind.path(ns), kind.object(name))
        assert watch.take(1) == [("ADDED", name)]


def test_nothing_can_be_made_while_the_definition_goes(api: Api, ns: str, name: str) -> None:
    kind = api.crd("cats")
    held = kind.object(name)
    held["metadata"] |= HELD
    api.post(kind.path(ns), held)
    api.delete(path(kind))
    until(lambda: "deletionTimestamp" in api.get(kind.path(ns, name))["metadata"])
    answer = api.request("POST", kind.path(ns), kind.object(f"{name}-b"))
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    assert "while custom resource definition is terminating" in answer.body["message"]
    api.patch(kind.path(ns, name), {"metadata": {"finalizers": None}})
    until(lambda: api.request("GET", path(kind)).status == 404)
