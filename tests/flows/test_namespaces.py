"""Bindings whose namespaces are chosen by label, while namespaces come, go and change labels. Level: control plane."""

from tests.controlplane.cluster import Cluster
from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.operator import Operator
from tests.flows.scripts import configmaps, hook
from tests.flows.waiting import stays, until


def by_label(label: str) -> str:
    """A hook on the ConfigMaps of all namespaces with that label."""
    where = {"labelSelector": {"matchLabels": {"team": label}}}
    return hook({"kubernetes": [configmaps("", namespace=where)]})


def make_namespace(cluster: Cluster, name: str, labels: dict[str, str]) -> ConfigMaps:
    """A namespace and its ConfigMaps."""
    cluster.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    return ConfigMaps(cluster, name)


def set_label(cms: ConfigMaps, label: str | None) -> None:
    """Change or take away the label of a namespace."""
    cms.cluster.request("PATCH", f"/api/v1/namespaces/{cms.namespace}", {"metadata": {"labels": {"team": label}}})


async def told(program: Operator, *events: tuple[str, str]) -> None:
    """These are the events since the start of the story, and no more come."""
    await program.hears("h.sh", len(events))
    await stays(lambda: len(program.events("h.sh")) == len(events), f"{events}", 0.2)
    assert program.events("h.sh") == list(events)


async def test_objects_are_added_and_deleted_as_their_namespace_starts_and_stops_matching(
    operator: Start, cluster: Cluster, namespace: str, cms: ConfigMaps
) -> None:
    """Created with the label, labelled later, unlabelled, deleted and made again."""
    cms.create("old")
    program = await operator({"h.sh": by_label(namespace)})
    assert program.contexts("h.sh")[0]["objects"] == []
    born = make_namespace(cluster, f"{namespace}-born", {"team": namespace})
    born.create("born")
    await told(program, ("Added", "born"))
    set_label(cms, namespace)
    await told(program, *(now := [("Added", "born"), ("Added", "old")]))
    cms.create("new")
    await told(program, *(now := [*now, ("Added", "new")]))
    set_label(cms, None)
    await program.hears("h.sh", 5)
    assert sorted(program.events("h.sh")[3:]) == [("Deleted", "new"), ("Deleted", "old")]
    cms.change("old", x="unseen")
    cms.delete("new")
    await stays(lambda: len(program.events("h.sh")) == 5, "five events", 0.3)
    set_label(cms, namespace)
    await program.hears("h.sh", 6)
    assert program.events("h.sh")[5:] == [("Added", "old")]
    cluster.request("DELETE", f"/api/v1/namespaces/{born.namespace}")


async def test_objects_of_a_deleted_namespace_are_deleted_and_those_of_its_successor_added(
    operator: Start, cluster: Cluster, namespace: str
) -> None:
    first = make_namespace(cluster, f"{namespace}-x", {"team": namespace})
    first.create("a")
    program = await operator({"h.sh": by_label(namespace)})
    cluster.request("DELETE", f"/api/v1/namespaces/{first.namespace}")
    await told(program, ("Deleted", "a"))
    gone = f"/api/v1/namespaces/{first.namespace}"
    await until(lambda: cluster.request("GET", gone).status == 404, "the end of the namespace")
    again = make_namespace(cluster, first.namespace, {"team": namespace})
    body = {"metadata": {"name": "b"}}  # refused while the API server still knows of the deletion
    await until(lambda: cluster.request("POST", again.path, body).status == 201, "an object in the new namespace")
    await told(program, ("Deleted", "a"), ("Added", "b"))
    cluster.request("DELETE", gone)


async def test_the_snapshot_has_the_objects_of_the_presently_matching_namespaces(
    operator: Start, cluster: Cluster, namespace: str, cms: ConfigMaps
) -> None:
    cms.create("mine")
    set_label(cms, namespace)
    where = {"labelSelector": {"matchLabels": {"team": namespace}}}
    binding = configmaps("", namespace=where, executeHookOnEvent=[])
    tick = {"name": "tick", "crontab": "* * * * * *", "includeSnapshotsFrom": ["cms"]}
    program = await operator({"h.sh": hook({"kubernetes": [binding], "schedule": [tick]})})

    def seen() -> list[str]:
        last = program.contexts("h.sh")[-1]
        return [found["object"]["metadata"]["name"] for found in last.get("snapshots", {}).get("cms", [])]

    await until(lambda: seen() == ["mine"], "the object in the snapshot")
    set_label(cms, None)
    await until(lambda: program.contexts("h.sh")[-1]["snapshots"] == {"cms": []}, "an empty snapshot")
