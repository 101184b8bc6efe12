"""Objects in a module's way, without an owner or of an operator that has moved: refused with the way out, and taken
over when a user asks for it.

Level: control plane."""

import json
from typing import Any

import pytest
from click import ClickException

from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.flows.modules.hooks import configmap, hook, unless
from tests.flows.modules.test_module_status import events, shown
from tests.flows.modules.world import World

DAEMON = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: daemon, namespace: NAMESPACE}
spec:
  replicas: 1
  selector: {matchLabels: {app: daemon}}
  template:
    metadata: {labels: {app: daemon}}
    spec: {containers: [{name: c, image: registry.k8s.io/pause:3.10, ports: [{containerPort: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: daemon, namespace: NAMESPACE}
spec: {selector: {app: daemon}, ports: [{port: 80}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAMESPACE-daemon}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
"""


async def orphaned(world: World, name: str = "a", owner: str = "gone/a") -> None:
    """A ConfigMap that a release `namespace/name` has left."""
    namespace, _, release = owner.partition("/")
    marks = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace}
    metadata = {"name": name, "annotations": marks, "labels": {"app.kubernetes.io/managed-by": "Helm"}}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "old"}}
    await world.ask("POST", world.path() + "?fieldManager=helm&story=yes", body)


async def adopt(world: World, form: str = ".json") -> Any:
    """What `hookrunner module adopt` answers."""
    return await shown(world, f"/module/a/adopt{form}", {})


@pytest.fixture
async def prepared(world: World) -> World:
    """With a module `a` that wants the ConfigMap `a`, which a release has left that is gone."""
    world.module("010-a", {"templates/cm.yaml": configmap("a", "k: new"), "values.yaml": "aEnabled: true\n"})
    await world.configure()
    await orphaned(world)
    return world


async def test_an_orphaned_object_parks_its_module_until_it_is_adopted(prepared: World) -> None:
    await prepared.start()
    await prepared.module_is("a", ready=False, reason="it belongs to release gone/a, which has no record any more")
    assert "`hookrunner module adopt a`" in prepared.modules()["a"]["reason"]
    assert await prepared.map("a") == {"k": "old"}
    assert await adopt(prepared) == {"module": "a", "adopted": [{"object": "default/ConfigMap/a", "owner": "gone/a"}]}
    await prepared.module_is("a", ready=True)
    assert await prepared.map("a") == {"k": "new"}
    assert await adopt(prepared, "") == "nothing was to be taken over\n"
    assert any(line.get("owner") == "gone/a" and line["level"] == "warn" for line in prepared.operator.logs())

    async def message() -> str:
        return (await events(prepared)).get("ObjectsAdopted", "")

    await prepared.until(message, "a: taken over: default/ConfigMap/a (from release gone/a)", "the Event")


async def test_the_right_to_adopt_ends_with_one_run(prepared: World) -> None:
    """The right to adopt ends with the run that had it, also if that fails."""
    prepared.module("010-a", {"hooks/h.sh": hook(unless("mended"), beforeHelm=1)})
    await prepared.start()
    await prepared.module_is("a", ready=False, reason="h.sh")
    with pytest.raises(ClickException, match=r"a has failed: .*h\.sh"):
        await adopt(prepared)
    prepared.write("told/mended", "")
    await prepared.configure(a="n: 1")
    await prepared.module_is("a", ready=False, reason="it belongs to release gone/a")
    assert await prepared.map("a") == {"k": "old"}


async def test_objects_of_an_existing_release_are_never_adopted(prepared: World) -> None:
    labels = {"owner": "helm", "name": "a", "version": "1", "status": "deployed"}
    record = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "sh.helm.release.v1.a.v1", "labels": labels},
    }
    await prepared.ask("POST", "/api/v1/namespaces?story=yes", {"metadata": {"name": "gone"}})
    await prepared.ask("POST", "/api/v1/namespaces/gone/configmaps?story=yes", record)
    await prepared.start()
    with pytest.raises(
        ClickException, match=r"two releases .* ConfigMap gone/sh\.helm\.release\.v1\.a\.v1; if it is no longer"
    ):
        await adopt(prepared)
    assert await prepared.map("a") == {"k": "old"}


async def test_without_the_right_to_list_records_nothing_is_adopted(prepared: World, sandbox: Sandbox) -> None:
    await prepared.ask("POST", "/api/v1/namespaces?story=yes", {"metadata": {"name": "gone"}})
    sandbox.faults.add(Fault("answer", "/namespaces/gone/configmaps", status=403))
    await prepared.start()
    with pytest.raises(ClickException, match="grant the right to list secrets and configmaps in namespace gone"):
        await adopt(prepared)
    assert await prepared.map("a") == {"k": "old"}


async def test_a_module_that_is_off_adopts_nothing(prepared: World) -> None:
    await prepared.configure(aEnabled="false")
    await prepared.start()
    with pytest.raises(ClickException, match="a is off, so nothing is taken over"):
        await adopt(prepared)


@pytest.mark.parametrize(
    "flags", [("--compat=addon-operator", "--config-map=hookrunner"), ("--adopt-orphaned-objects",)]
)
async def test_flags_allow_adopting_orphans_unasked(flags: tuple[str, ...], prepared: World) -> None:
    prepared.operator.flags = (*prepared.operator.flags, *flags)
    await prepared.start()
    await prepared.module_is("a", ready=True)
    assert await prepared.map("a") == {"k": "new"}
    assert any(line.get("owner") == "gone/a" and line["level"] == "warn" for line in prepared.operator.logs())


async def test_releases_are_adopted_when_an_operator_moves_to_another_namespace(real: World) -> None:
    """Its first namespace has lost the records. Nothing is restarted, and what the template says is as it was."""
    real.module("010-a", {"templates/all.yaml": DAEMON.replace("NAMESPACE", real.namespace)})
    real.module("010-a", {"values.yaml": "aEnabled: true\n"})
    await real.configure()
    await real.start()
    await real.module_is("a", ready=True)
    await real.stop()
    await real.until(lambda: sets(real), 1, "ReplicaSets")
    before = await watched(real)
    home = f"{real.namespace}-new"
    await real.ask("POST", "/api/v1/namespaces", {"metadata": {"name": home}})
    try:
        await real.delete("sh.helm.release.v1.a.v1", "secrets")
        real.operator.flags = (*real.operator.flags, f"--namespace={home}")
        await real.start()
        await real.module_is("a", ready=False, reason=f"it belongs to release {real.namespace}/a, which has no record")
        adopted = [one["object"] for one in (await adopt(real))["adopted"]]
        names = ("Deployment/daemon", "Service/daemon")
        expected = [f"ClusterRole/{real.namespace}-daemon", *(f"{real.namespace}/{name}" for name in names)]
        assert sorted(adopted) == sorted(expected)
        await real.module_is("a", ready=True)
        assert await watched(real) == before
        await real.stop()
    finally:
        await real.ask("DELETE", f"/api/v1/namespaces/{home}", None)
        await real.ask("DELETE", f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{real.namespace}-daemon", None)


async def watched(world: World) -> str:
    """What the Deployment, its ReplicaSets and the Service are. (A generation counts annotations, too.)"""
    base = f"/namespaces/{world.namespace}"
    found = [
        await world.ask("GET", path, None)
        for path in (f"/apis/apps/v1{base}/deployments/daemon", f"/api/v1{base}/services/daemon")
    ]
    found += (await world.ask("GET", f"/apis/apps/v1{base}/replicasets", None))["items"]
    return json.dumps([[one["metadata"]["uid"], one["spec"]] for one in found])


async def sets(world: World) -> int:
    """How many ReplicaSets there are."""
    return len((await world.ask("GET", f"/apis/apps/v1/namespaces/{world.namespace}/replicasets", None))["items"])
