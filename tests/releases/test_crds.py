"""CRDs of modules in the cluster (the sandbox). Level: sandbox."""

from typing import Any

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.discovery import Discovery
from hookrunner.releases.crds import Crds
from hookrunner.releases.manifest_objects import KindResolver
from kubesandbox.sandbox import Sandbox
from kubetypes.json_values import JSON
from tests.fakes.objects import OPEN, definition

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.x.io"
LABELS = {"heritage": "addon-operator"}


@pytest.fixture
def crds(client: Client) -> Crds:
    return Crds(client, KindResolver(Discovery(client)))


def thing_definition(*versions: str, kind: str = "Thing", **schema: JSON) -> Any:
    """`schema` are more fields of the schema."""
    return definition("x.io", kind, *versions, schema=OPEN | schema)


async def test_a_definition_is_created_with_labels_and_served_at_once(crds: Crds, client: Client) -> None:
    assert await crds.ensure([thing_definition("v1", "v1beta1")], LABELS) == ["x.io/v1/Thing", "x.io/v1beta1/Thing"]
    assert (await client.get(PATH))["metadata"]["labels"] == LABELS
    assert (await client.get("/apis/x.io/v1/things"))["items"] == []


async def test_kind_is_known_at_once_that_was_unknown_a_moment_before(client: Client) -> None:
    """Else the watch of an addon whose group another addon shares would begin with a loss and a pause."""
    discovery = Discovery(client)
    crds = Crds(client, KindResolver(discovery))
    await crds.ensure([thing_definition("v1")], LABELS)
    assert (await discovery.resolve("x.io/v1", "Thing")).plural == "things"
    await crds.ensure([thing_definition("v1", kind="Other")], LABELS)
    assert (await discovery.resolve("x.io/v1", "Other")).plural == "others"


@pytest.mark.parametrize("spec", [None, [], {"group": "x.io"}, {"group": "x.io", "names": {}, "versions": {"v1": 1}}])
async def test_a_definition_that_defines_nothing_is_refused_by_its_name(crds: Crds, spec: Any) -> None:
    with pytest.raises(ReleaseFailed, match=r"things\.x\.io: it needs spec\.group, spec\.names"):
        await crds.ensure([thing_definition("v1") | {"spec": spec}], LABELS)


async def test_nothing_is_written_if_nothing_differs(crds: Crds, sandbox: Sandbox) -> None:
    await crds.ensure([thing_definition("v1")], LABELS)
    sandbox.faults.requests.clear()
    assert await crds.ensure([thing_definition("v1")], LABELS) == ["x.io/v1/Thing"]
    assert list(sandbox.faults.requests) == [f"GET {PATH}"]


async def test_a_changed_schema_is_written(crds: Crds, client: Client) -> None:
    await crds.ensure([thing_definition("v1")], LABELS)
    await crds.ensure([thing_definition("v1", description="new")], LABELS)
    found = (await client.get(PATH))["spec"]["versions"][0]
    assert found["schema"]["openAPIV3Schema"]["description"] == "new"


async def test_version_is_removed_after_its_objects_are_migrated(crds: Crds, client: Client, sandbox: Sandbox) -> None:
    await crds.ensure([thing_definition("v1alpha1", "v1")], LABELS)
    where = "/apis/x.io/v1alpha1/namespaces/default/things"
    thing = {"apiVersion": "x.io/v1alpha1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"kept": 1}}
    await client.send(ApiCall("POST", where, body=thing))
    sandbox.faults.requests.clear()
    assert await crds.ensure([thing_definition("v1")], LABELS) == ["x.io/v1/Thing"]
    writes = [line.split("?")[0] for line in sandbox.faults.requests if not line.startswith("GET")]
    again = "PUT /apis/x.io/v1/namespaces/default/things/a"
    assert writes == [f"PUT {PATH}", again, f"PUT {PATH}/status", f"PUT {PATH}"]
    found = await client.get(PATH)
    assert found["status"]["storedVersions"] == ["v1"]
    assert [version["name"] for version in found["spec"]["versions"]] == ["v1"]
    assert (await client.get(where.replace("v1alpha1", "v1") + "/a"))["spec"] == {"kept": 1}


async def test_every_failed_definition_is_named_and_the_others_are_installed(crds: Crds, client: Client) -> None:
    bad = thing_definition("v1", kind="Other", type="nonsense")
    with pytest.raises(
        ReleaseFailed, match=r"1 of 2 CRDs could not be installed:\nothers\.x\.io: .*type: Unsupported value"
    ):
        await crds.ensure([bad, thing_definition("v1")], LABELS)
    assert await client.get(PATH)


@pytest.mark.looptime
async def test_a_definition_that_the_server_does_not_serve_fails_with_its_reason(crds: Crds, client: Client) -> None:
    await crds.ensure([thing_definition("v1")], {})
    hasty = Crds(client, KindResolver(Discovery(client)), deadline=1)
    taken = thing_definition("v1", kind="Second")
    taken["spec"]["names"]["shortNames"] = ["things"]
    with pytest.raises(ReleaseFailed, match=r'does not serve it after 1 s: .*"things" is already in use'):
        await hasty.ensure([taken], {})
