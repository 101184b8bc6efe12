"""What hookrunner does not touch: objects under maintenance, definitions, a release elsewhere, webhooks of modules."""

from tests.flows.modules.hooks import configmap, hook
from tests.flows.modules.test_overtaking import CRD
from tests.flows.modules.world import World

OBJECT = configmap("a", "x: {{ .Values.a.x | default 0 | quote }}")
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
POLICY = {"name": "policy.example.com", "rules": [RULE]}


async def test_objects_under_maintenance_are_marked_once_and_then_left_alone(world: World) -> None:
    """addon-operator.md §6.7; hooks go on. Of two modules the other is not concerned."""
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


async def test_definitions_stay_and_webhooks_of_modules_never_come(world: World) -> None:
    world.module("010-a", {"crds/thing.yaml": CRD, "templates/cm.yaml": OBJECT})
    world.module("020-b", {"hooks/h.sh": hook(kubernetesValidating=[POLICY]), "module.yaml": "critical: false\n"})
    await world.configure(aEnabled="true", bEnabled="true")
    await world.start()
    await world.operator.wait_log("put the hook among global hooks")
    for name, critical in (("a", "true"), ("b", "false")):
        assert world.operator.metric("mm_module_info", module=name, enabled="true", critical=critical) == 1
    await world.configure(aEnabled="false")
    await world.until(world.releases, [], "releases")
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com"
    assert (await world.ask("GET", path, None))["metadata"]["labels"] == {"heritage": "hookrunner"}


async def test_a_module_that_is_to_live_elsewhere_says_how_to_move_it(world: World) -> None:
    world.module("010-a", {"templates/cm.yaml": OBJECT})
    await world.configure(aEnabled="true")
    await world.start()
    world.module("010-a", {"module.yaml": "namespace: kube-system\n"})
    await world.again()
    await world.module_is("a", ready=False, reason="helm uninstall a --namespace default")
    assert await world.releases() == ["a.v1 deployed"]
