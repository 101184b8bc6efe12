"""Other clients that write between our reading and writing: nothing of theirs is deleted or overwritten.

Level: sandbox."""

from typing import Any

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.discovery import Discovery
from hookrunner.releases.crds import Crds
from hookrunner.releases.manifest_objects import KindResolver
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.fakes.second_writer import OvertakenClient, once
from tests.kube.server import ApiServer
from tests.releases.test_crds import LABELS, PATH, thing_definition
from tests.releases.wants import ADDON_OPTIONS, addon, configmap, wanted
from tests.releases.world import started

A, B = configmap("a", x="1"), configmap("b", x="1")
PLACED: dict[str, Any] = {"metadata": {"name": "a", "namespace": "default"}}
THEIRS = A | PLACED | {"data": {"their": "data"}}


@pytest.fixture
def api(sandbox: Sandbox) -> ApiServer:
    return ApiServer(sandbox, sandbox.url)


def recreated(api: ApiServer) -> None:
    api.delete(THEIRS)
    api.put(THEIRS)


async def test_object_that_another_client_creates_again_is_not_pruned(client: OvertakenClient, api: ApiServer) -> None:
    await started(client).reconcile(wanted("d1", A, B))
    client.before_write = once("DELETE", lambda: recreated(api), "/a")
    await started(client).reconcile(wanted("d2", B))
    assert api.get(THEIRS)["data"] == {"their": "data"}


async def test_object_that_another_client_creates_again_is_not_torn_down(
    client: OvertakenClient, api: ApiServer
) -> None:
    await started(client).reconcile(addon("d1", A))
    client.before_write = once("DELETE", lambda: recreated(api), "/a")
    await started(client).removal.tear_down("demo", "default", ADDON_OPTIONS)
    assert api.get(THEIRS)["data"] == {"their": "data"}


@pytest.mark.parametrize("before", [["d1"], ["d1", "d2"]], ids=["created by us", "applied already"])
async def test_object_that_another_client_creates_again_is_not_overwritten(
    client: OvertakenClient, api: ApiServer, before: list[str]
) -> None:
    for digest in before:
        await started(client).reconcile(wanted(digest, configmap("a", x=digest)))
    client.before_write = once("PATCH", lambda: recreated(api), "/a")
    with pytest.raises(ReleaseFailed, match="ConfigMap/a"):
        await started(client).reconcile(wanted("d3", configmap("a", x="3")))
    assert api.get(THEIRS)["data"] == {"their": "data"}


async def test_field_that_another_client_sets_stays_its_own_when_ours_become_applied(
    client: OvertakenClient, api: ApiServer
) -> None:
    """The first update after the creation writes the whole list of owners of fields."""
    await started(client).reconcile(wanted("d1", A))
    live = api.get(THEIRS)
    client.before_write = once("PATCH", lambda: api.put(live | {"data": live["data"] | {"their": "data"}}), "/a")
    await started(client).reconcile(wanted("d2", configmap("a", x="2")))
    live = api.get(THEIRS)
    assert live["data"] == {"x": "2", "their": "data"}
    owners = {entry["manager"]: entry["fieldsV1"] for entry in live["metadata"]["managedFields"]}
    assert "f:their" in owners["another-client"]["f:data"]


async def test_stored_versions_of_a_definition_that_was_edited_meanwhile_are_decided_again(
    client: OvertakenClient, api: ApiServer
) -> None:
    """Also by those who may not update a status, but patch it: objects may have been stored in the old version."""
    crds = Crds(client, KindResolver(Discovery(client)))
    await crds.ensure([thing_definition("v1alpha1", "v1")], LABELS)
    api.faults.add(Fault("answer", f"PUT {PATH}/status", status=403))

    def edit() -> None:
        live = api.get(thing_definition("v1"))
        api.put(live | {"metadata": live["metadata"] | {"labels": LABELS | {"their": "label"}}})

    client.before_write = once("PATCH", edit, "/status")
    await crds.ensure([thing_definition("v1")], LABELS)
    live = api.get(thing_definition("v1"))
    assert (live["metadata"]["labels"]["their"], live["status"]["storedVersions"]) == ("label", ["v1"])
    assert [request.path for request in api.asked("PATCH")] == [f"{PATH}/status"] * 2


async def test_object_of_ours_that_was_created_again_is_applied(client: OvertakenClient, api: ApiServer) -> None:
    for digest in ("d1", "d2"):
        await started(client).reconcile(wanted(digest, configmap("a", x=digest)))
    live = api.get(THEIRS)
    marks = {key: live["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}

    def recreate() -> None:
        api.delete(THEIRS)
        api.put(live | {"metadata": marks})

    client.before_write = once("PATCH", recreate, "/a")
    await started(client).reconcile(wanted("d3", configmap("a", x="3")))
    assert api.get(THEIRS)["data"] == {"x": "3"}
