"""Owners and what they own: what goes with an owner, what stays, what holds it. Level: control plane."""

from typing import Any

import pytest

from tests.kubesandbox.contract.api import Api, until
from tests.kubesandbox.contract.objects import JSON, at, config_map, owned_by


@pytest.fixture
def maps(api: Api, ns: str) -> str:
    return at("configmaps", ns)


@pytest.fixture
def owner(api: Api, maps: str, name: str) -> JSON:
    """An owner of no other object."""
    made: JSON = api.post(maps, config_map(name))
    return made


def owned(api: Api, path: str, name: str, *owners: JSON, **meta: Any) -> str:
    """Make an object with owners; return its path."""
    api.post(path, config_map(name, ownerReferences=list(owners), **meta))
    return f"{path}/{name}"


def gone(api: Api, path: str) -> bool:
    return api.request("GET", path).status == 404


def owners(api: Api, path: str) -> list[str]:
    found: list[JSON] = api.get(path)["metadata"].get("ownerReferences", [])
    return [each["name"] for each in found]


@pytest.mark.parametrize("asked", ["", "?propagationPolicy=Background"], ids=["by-default", "background"])
def test_what_is_owned_goes_after_its_owner(api: Api, maps: str, owner: JSON, name: str, asked: str) -> None:
    child = owned(api, maps, f"{name}-child", owned_by(owner))
    grandchild = owned(api, maps, f"{name}-grandchild", owned_by(api.get(child)))
    api.delete(f"{maps}/{name}{asked}")
    assert gone(api, f"{maps}/{name}")
    until(lambda: gone(api, child) and gone(api, grandchild))


def test_in_the_foreground_the_owner_waits_for_what_blocks_it(api: Api, maps: str, owner: JSON, name: str) -> None:
    child = owned(api, maps, f"{name}-child", owned_by(owner, block=True), finalizers=["example.com/hold"])
    answer = api.delete(f"{maps}/{name}?propagationPolicy=Foreground")
    assert answer["metadata"]["finalizers"] == ["foregroundDeletion"]
    until(lambda: "deletionTimestamp" in api.get(child)["metadata"])
    assert not gone(api, f"{maps}/{name}")
    api.patch(child, {"metadata": {"finalizers": None}})
    until(lambda: gone(api, child) and gone(api, f"{maps}/{name}"))


def test_in_the_foreground_the_owner_does_not_wait_for_what_does_not_block(
    api: Api, maps: str, owner: JSON, name: str
) -> None:
    child = owned(api, maps, f"{name}-child", owned_by(owner), finalizers=["example.com/hold"])
    api.delete(f"{maps}/{name}?propagationPolicy=Foreground")
    until(lambda: gone(api, f"{maps}/{name}"))
    until(lambda: "deletionTimestamp" in api.get(child)["metadata"])
    api.patch(child, {"metadata": {"finalizers": None}})
    until(lambda: gone(api, child))


def test_an_orphan_loses_its_reference_and_stays(api: Api, maps: str, owner: JSON, name: str) -> None:
    child = owned(api, maps, f"{name}-child", owned_by(owner))
    api.delete(f"{maps}/{name}?propagationPolicy=Orphan")
    until(lambda: gone(api, f"{maps}/{name}"))
    assert owners(api, child) == []


def test_orphaning_by_the_old_option(api: Api, maps: str, owner: JSON, name: str) -> None:
    child = owned(api, maps, f"{name}-child", owned_by(owner))
    api.delete(f"{maps}/{name}", {"orphanDependents": True})
    until(lambda: gone(api, f"{maps}/{name}"))
    assert owners(api, child) == []


def test_with_another_owner_it_stays_and_loses_only_the_one(api: Api, maps: str, owner: JSON, name: str) -> None:
    other = api.post(maps, config_map(f"{name}-other"))
    child = owned(api, maps, f"{name}-child", owned_by(owner), owned_by(other))
    api.delete(f"{maps}/{name}")
    until(lambda: owners(api, child) == [f"{name}-other"])
    api.delete(f"{maps}/{name}-other")
    until(lambda: gone(api, child))


@pytest.mark.slow
def test_what_is_made_for_an_owner_that_is_not_there_goes(api: Api, maps: str, owner: JSON, name: str) -> None:
    child = owned(api, maps, f"{name}-child", owned_by(owner) | {"uid": "5d0a1f32-0000-4000-8000-000000000001"})
    until(lambda: gone(api, child))
    assert not gone(api, f"{maps}/{name}")


@pytest.mark.slow
def test_an_object_owned_by_an_unknown_kind_stays(api: Api, maps: str, owner: JSON, name: str) -> None:
    """It may be served again some day. What is made after it, for an owner that could be found, goes meanwhile."""
    unknown = {"apiVersion": "none.example.com/v1", "kind": "None", "name": name, "uid": f"{name}-unknown"}
    child = owned(api, maps, f"{name}-child", unknown)
    later = owned(api, maps, f"{name}-later", owned_by(owner) | {"uid": f"{name}-missing"})
    until(lambda: gone(api, later))
    assert not gone(api, child)


def test_an_owner_of_another_kind(api: Api, ns: str, maps: str, name: str) -> None:
    secret = api.post(at("secrets", ns), {"metadata": {"name": name}})
    child = owned(api, maps, f"{name}-child", owned_by(secret))
    api.delete(at("secrets", ns, name))
    until(lambda: gone(api, child))


def test_a_cluster_scoped_owner(api: Api, maps: str, name: str) -> None:
    node = api.post(at("clusterroles"), {"metadata": {"name": name}, "rules": []})
    child = owned(api, maps, f"{name}-child", owned_by(node))
    api.delete(at("clusterroles", name=name))
    until(lambda: gone(api, child))


def test_an_owner_in_another_namespace_does_not_count(api: Api, ns: str, name: str) -> None:
    elsewhere = at("configmaps", api.namespace())
    owner = api.post(at("configmaps", ns), config_map(name))
    child = owned(api, elsewhere, name, owned_by(owner))
    until(lambda: gone(api, child))


def test_a_deployments_replica_sets_go_with_it(api: Api, ns: str, name: str) -> None:
    """The oldest use of all: the owner is a built-in kind of a group."""
    replica_set = {
        "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "busybox"}]},
            },
        },
    }
    made = api.post(at("replicasets", ns), replica_set)
    child = owned(api, at("configmaps", ns), f"{name}-child", owned_by(made))
    api.delete(at("replicasets", ns, name))
    until(lambda: gone(api, child))


def test_a_deleted_collection_takes_what_its_objects_own(api: Api, ns: str, maps: str, name: str) -> None:
    owner = api.post(maps, config_map(name, labels={"case": name}))
    child = owned(api, maps, f"{name}-child", owned_by(owner))
    api.delete(f"{maps}?labelSelector=case={name}")
    until(lambda: gone(api, child))


def test_what_is_owned_may_be_deleted_without_its_owner(api: Api, maps: str, owner: JSON, name: str) -> None:
    child = owned(api, maps, f"{name}-child", owned_by(owner, block=True))
    api.delete(child)
    assert gone(api, child)
    assert not gone(api, f"{maps}/{name}")


def ended(api: Api, path: str) -> bool:
    return "deletionTimestamp" in api.get(path)["metadata"]


def test_an_owner_waits_no_longer_for_what_it_no_longer_owns(api: Api, maps: str, owner: JSON, name: str) -> None:
    child = owned(api, maps, f"{name}-child", owned_by(owner, block=True), finalizers=["example.com/hold"])
    api.delete(f"{maps}/{name}?propagationPolicy=Foreground")
    until(lambda: ended(api, child))
    api.patch(child, {"metadata": {"ownerReferences": None}})
    until(lambda: gone(api, f"{maps}/{name}"))
    api.patch(child, {"metadata": {"finalizers": None}})


def test_with_another_owner_it_leaves_the_one_that_goes_in_the_foreground(
    api: Api, maps: str, owner: JSON, name: str
) -> None:
    other = api.post(maps, config_map(f"{name}-other"))
    child = owned(api, maps, f"{name}-child", owned_by(owner, block=True), owned_by(other, block=True))
    api.delete(f"{maps}/{name}?propagationPolicy=Foreground")
    until(lambda: gone(api, f"{maps}/{name}"))
    assert owners(api, child) == [f"{name}-other"]


@pytest.mark.parametrize("asked", ["Background", "Foreground"])
def test_a_cycle_of_owners_is_collected(api: Api, maps: str, owner: JSON, name: str, asked: str) -> None:
    child = owned(api, maps, f"{name}-child", owned_by(owner, block=True))
    api.patch(f"{maps}/{name}", {"metadata": {"ownerReferences": [owned_by(api.get(child), block=True)]}})
    api.delete(f"{maps}/{name}?propagationPolicy={asked}")
    until(lambda: gone(api, f"{maps}/{name}") and gone(api, child))


def test_an_owner_with_the_uid_of_another_kind_does_not_count(api: Api, maps: str, owner: JSON, name: str) -> None:
    wrong = owned_by(owner) | {"kind": "Secret"}
    child = owned(api, maps, f"{name}-child", wrong)
    until(lambda: gone(api, child))


def test_what_has_no_namespace_is_not_owned_by_what_has_one(api: Api, maps: str, owner: JSON, name: str) -> None:
    meta = {"name": name, "ownerReferences": [owned_by(owner)]}
    role = at("clusterroles", name=name)
    api.post(at("clusterroles"), {"metadata": meta})
    child = owned(api, maps, f"{name}-child", owned_by(owner))
    api.delete(f"{maps}/{name}")
    until(lambda: gone(api, child))
    assert owners(api, role) == [name]
    api.delete(role)
