"""In which namespace the objects of an instance are: its own, though its release is in hookrunner's. Level: sandbox."""

from tests.flows.modules.test_addon_instances import THINGS, start, things
from tests.flows.modules.world import World

__all__ = ["things"]
ROOT = "/apis/addons.x-k8s.io/v1alpha1/things"
THING = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "Thing", "metadata": {"name": "x"}}


async def test_object_of_a_custom_kind_gets_the_namespace_of_its_instance(things: World) -> None:
    """Not that of its release, whose records are in hookrunner's namespace."""
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    spec = {"group": "a.io", "scope": "Namespaced", "names": {"kind": "Zone", "plural": "zones"}, "versions": versions}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await things.ask("POST", path, definition | {"metadata": {"name": "zones.a.io"}})
    zone = "apiVersion: a.io/v1\nkind: Zone\nmetadata: {name: z}\n"
    things.write("addons/thing/channels/packages/thing/1.0.0/objects.yaml", zone)
    await start(things)
    await things.ask("POST", THINGS.replace("/default/", "/kube-system/"), THING)

    async def zones() -> list[str]:
        listed = await things.ask("GET", "/apis/a.io/v1/zones", None)
        return [item["metadata"]["namespace"] for item in (listed or {}).get("items", ())]

    await things.until(zones, ["kube-system"], "the zone")


async def test_instance_without_a_namespace_has_its_objects_in_that_of_hookrunner(things: World) -> None:
    things.write("addons/thing/addon.yaml", 'object: {kind: Thing, scope: Cluster}\ntext: {"{{ .Text }}": text}\n')
    await things.start()
    await things.until(lambda: served(things), True, "the kind")
    await things.ask("POST", ROOT, THING)
    await things.becomes("of-thing", text="hi", version="1.0.0")
    await things.until(things.releases, ["thing.x.v1 deployed"], "the release")
    (owner,) = (await things.ask("GET", things.path("of-thing"), None))["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Thing", "x", True)

    async def phase() -> str:
        return str(((await things.ask("GET", f"{ROOT}/x", None)) or {}).get("status", {}).get("phase"))

    await things.until(phase, "Current", "the phase")
    await things.ask("DELETE", f"{ROOT}/x", None)
    await things.until(things.maps, {}, "what is left")
    await things.until(lambda: things.ask("GET", f"{ROOT}/x", None), None, "the object")


async def served(world: World) -> bool:
    return await world.ask("GET", ROOT, None) is not None
