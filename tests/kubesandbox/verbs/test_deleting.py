"""Which objects a deletion takes with it. Level: sandbox."""

from typing import Any

import pytest

from kubesandbox.store import Key
from tests.fakes.cluster import until
from tests.kubesandbox.conftest import Client

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
HOLD = "example.com/hold"


def labelled(name: str, **labels: str) -> object:
    return {"metadata": {"name": name, "labels": labels}}


def metadata_of(client: Client, name: str) -> Any:
    """As it is stored; empty for an object that does not exist."""
    kind = client.sandbox.kinds.of_kind("v1", "ConfigMap")
    assert kind
    stored = client.sandbox.store.get(Key(kind.stored, "default", name))
    return stored.json()["metadata"] if stored else {}


async def names(client: Client) -> set[str]:
    """Of the ConfigMaps that exist."""
    items = (await client.send("GET", MAPS)).body["items"]
    return {item["metadata"]["name"] for item in items} - {"kube-root-ca.crt"}


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("?labelSelector=app=a", {"b", "bare"}),
        ("?labelSelector=app", {"bare"}),
        ("?labelSelector=app!=a", {"a"}),
        ("?fieldSelector=metadata.name=bare", {"a", "b"}),
        ("?labelSelector=app=c", {"a", "b", "bare"}),
        ("?labelSelector=app=a&dryRun=All", {"a", "b", "bare"}),
        ("", set()),
    ],
)
async def test_a_deleted_collection_is_what_its_selectors_choose(client: Client, query: str, left: set[str]) -> None:
    for obj in (labelled("a", app="a"), labelled("b", app="b"), labelled("bare")):
        await client.create(MAPS, obj)
    assert (await client.send("DELETE", MAPS + query)).status == 200
    assert await names(client) == left


async def test_only_dependents_that_block_it_hold_an_owner_up(client: Client) -> None:
    owner = await client.create(MAPS, labelled("owner"))
    entry = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    for name, block in (("blocks", True), ("follows", False)):
        reference = entry | {"blockOwnerDeletion": block}
        metadata = {"name": name, "ownerReferences": [reference], "finalizers": [HOLD]}
        await client.create(MAPS, {"metadata": metadata})
    await client.send("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Foreground"})
    await until(lambda: "deletionTimestamp" in metadata_of(client, "blocks"))
    assert await names(client) == {"owner", "blocks", "follows"}
    await client.send("PATCH", f"{MAPS}/blocks", {"metadata": {"finalizers": None}}, Content_Type=MERGE)
    await until(lambda: not metadata_of(client, "owner"))
    assert await names(client) == {"follows"}
