"""The parts put together: what only all of them do. Level: sandbox."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from kubesandbox.controllers.garbage import PATIENCE
from kubesandbox.query.requests import DeleteParameters, Place, WriteParameters
from kubesandbox.sandbox import Options, serving
from kubesandbox.verbs.bodies import Body
from tests.flows.waiting import until
from tests.kubesandbox.conftest import Client

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


async def test_controllers_miss_nothing_though_history_is_forgotten_before_they_see_it(client: Client) -> None:
    """A namespace with more objects than history has room for is such a case."""
    store, api = client.sandbox.store, client.sandbox.api
    owner = await client.create(CONFIGMAPS, {"metadata": {"name": "owner"}})
    mine = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    kind = client.sandbox.kinds.get("", "v1", "configmaps")
    assert kind is not None
    body = Body({"metadata": {"name": "owned", "ownerReferences": [mine]}})
    api.create(kind, Place("", "v1", "configmaps", "default"), WriteParameters(), body)
    store.compact()
    assert (await client.send("DELETE", f"{CONFIGMAPS}/owner")).status == 200
    await until(lambda: not store.select("configmaps"), "what was owned goes too")


@pytest.mark.looptime
async def test_seeds_keep_owners_that_are_elsewhere(tmp_path: Path) -> None:
    missing = {"apiVersion": "v1", "kind": "ConfigMap", "name": "elsewhere", "uid": "1-2-3"}
    seed = tmp_path / "seed.yaml"
    meta = {"name": "owned", "ownerReferences": [missing]}
    seed.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}))
    async with serving(Options(seed=[seed])) as sandbox:
        made = sandbox.store.revision
        await asyncio.sleep(PATIENCE + 0.5)
        assert sandbox.store.changes(made) == []


POD = {"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 20, "containers": [{"name": "a", "image": "a"}]}}
PODS = "/api/v1/namespaces/default/pods"


@pytest.mark.looptime
async def test_a_pod_on_a_node_goes_when_its_grace_is_over() -> None:
    async with serving(Options()) as sandbox:
        pods = sandbox.kinds.of_stored("pods")
        assert pods is not None
        place = Place("", "v1", "pods", "default")
        sandbox.api.create(pods, place, WriteParameters(), Body(POD | {"metadata": {"name": "a"}}))
        sandbox.api.delete(pods, replace(place, name="a"), DeleteParameters())
        # Its end is a time of day in whole seconds, which goes on while the machine stands still.
        await asyncio.sleep(15)
        assert sandbox.store.select("pods")
        await asyncio.sleep(6)
        assert sandbox.store.select("pods") == []


async def test_a_definition_of_a_built_in_kind_changes_nothing(client: Client) -> None:
    """Its deletion takes the objects that it defines, which these are not."""
    ingresses, crds = "/apis/networking.k8s.io/v1/namespaces/default/ingresses", "/apis/apiextensions.k8s.io/v1/"
    backend = {"service": {"name": "a", "port": {"number": 80}}}
    await client.create(ingresses, {"metadata": {"name": "a"}, "spec": {"defaultBackend": backend}})
    names = {"plural": "ingresses", "kind": "Ingress"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "networking.k8s.io", "scope": "Namespaced", "names": names, "versions": [version]}
    meta = {"name": "ingresses.networking.k8s.io", "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}}
    await client.create(f"{crds}customresourcedefinitions", {"metadata": meta, "spec": spec})
    path = f"{crds}customresourcedefinitions/ingresses.networking.k8s.io"
    await client.send("DELETE", path)
    await until(lambda: not client.sandbox.store.select("customresourcedefinitions.apiextensions.k8s.io"), "it is gone")
    assert (await client.send("GET", f"{ingresses}/a")).status == 200
