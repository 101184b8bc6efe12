"""Objects that hookrunner does not write: those under maintenance, definitions, a release in another namespace.

Level: sandbox."""

import pytest

from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.flows.modules.hooks import configmap, hook
from tests.flows.modules.test_overtaking import CRD
from tests.flows.modules.world import World

OBJECT = configmap("a", "x: {{ .Values.a.x | default 0 | quote }}")


async def test_a_release_under_maintenance_is_marked_once_and_not_written(world: World) -> None:
    """Its hooks go on, and the other of two modules is not affected."""
    for name in ("010-a", "020-b"):
        world.module(name, {"templates/cm.yaml": OBJECT, "hooks/h.sh": hook(afterHelm=1)})
    world.module("020-b", {"templates/cm.yaml": configmap("b")})
    await world.configure(aEnabled="true", bEnabled="true", bMaintenance="NoResourceReconciliation")
    await world.start()
    await world.configure(aMaintenance="NoResourceReconciliation")
    await world.until(lambda: _marked(world), True, "the mark of an object under maintenance")
    await world.ran("a/h.sh afterHelm", 2)
    assert world.operator.metric("mm_module_maintenance", module="a") == 1
    world.writes()
    await world.configure(a="x: 7")
    await world.ran("a/h.sh afterHelm", 3)
    await world.delete("a")
    assert world.writes() == []
    await world.configure(aMaintenance=None)
    await world.becomes("a", x="7")
    assert not await _marked(world)
    metrics = world.operator.get("/metrics")[1]
    assert [line[-3:] for line in metrics.splitlines() if "mm_module_maintenance{" in line] == ["} 1"], "of b alone"


async def _marked(world: World) -> bool:
    object = await world.ask("GET", world.path("a"), None)
    return "maintenance.deckhouse.io/no-resource-reconciliation" in object["metadata"]["labels"]


async def test_definitions_are_kept_when_their_module_is_turned_off(world: World) -> None:
    world.module("010-a", {"crds/thing.yaml": CRD, "templates/cm.yaml": OBJECT})
    world.module("020-b", {"hooks/h.sh": hook(beforeHelm=1), "module.yaml": "critical: false\n"})
    await world.configure(aEnabled="true", bEnabled="true")
    await world.start()
    for name, critical in (("a", "true"), ("b", "false")):
        assert world.operator.metric("mm_module_info", module=name, enabled="true", critical=critical) == 1
    await world.configure(aEnabled="false")
    await world.until(world.releases, [], "releases")
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com"
    assert (await world.ask("GET", path, None))["metadata"]["labels"] == {"heritage": "hookrunner"}


@pytest.mark.parametrize("before", ["default", "kube-public"])
async def test_a_changed_namespace_is_refused_with_the_way_to_move_the_release(world: World, before: str) -> None:
    """And does it when it is turned off and on. Where the last `module.yaml` named a namespace, purge looks too."""
    world.module("010-a", {"templates/cm.yaml": OBJECT, "module.yaml": f"namespace: {before}\n"})
    world.module("020-b", {"templates/cm.yaml": configmap("b")})
    await world.configure(aEnabled="true")
    await world.start()
    world.module("010-a", {"module.yaml": "namespace: kube-system\n"})
    await world.again()
    await world.module_is("a", ready=False, reason=f"helm uninstall a --namespace {before}")
    assert await _places(world) == [before]
    await world.configure(aEnabled="false")
    await world.until(lambda: _places(world), [], "where the release is")
    await world.configure(aEnabled="true")
    await world.until(lambda: _places(world), ["kube-system"], "where the release is")
    await world.stop()
    world.without("modules/010-a")
    await world.start()
    await world.until(lambda: _places(world), [], "where the release is")


async def test_without_rights_elsewhere_releases_of_the_own_namespace_are_found(world: World, sandbox: Sandbox) -> None:
    sandbox.faults.add(Fault("answer", "GET /api/v1/secrets", status=403))
    world.module("010-a", {"templates/cm.yaml": OBJECT})
    await world.configure(aEnabled="true")
    await world.start()
    world.module("010-a", {"module.yaml": "namespace: kube-system\n"})
    await world.again()
    await world.module_is("a", ready=False, reason="helm uninstall a --namespace default")


async def _places(world: World) -> list[str]:
    """Namespaces of all records."""
    items = (await world.ask("GET", "/api/v1/secrets?labelSelector=owner%3Dhelm", None))["items"]
    return [one["metadata"]["namespace"] for one in items]
