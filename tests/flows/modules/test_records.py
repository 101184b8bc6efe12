"""Damaged records of releases are reported where users look, and repaired as far as they can be. Level: sandbox."""

from tests.flows.modules.hooks import configmap
from tests.flows.modules.test_module_status import conditions, told
from tests.flows.modules.world import World

RECORD = "sh.helm.release.v1.a.v1"


async def damage(world: World, **body: object) -> None:
    """While the operator is down."""
    world.module("010-a", {"templates/cm.yaml": configmap("a", "x: z")})
    await world.configure(aEnabled="true")
    await world.start()
    await world.stop()
    await world.ask("PATCH", world.path(RECORD, "secrets"), body)
    await world.start()


async def test_an_unreadable_record_is_reported_from_the_start_until_it_is_gone(world: World) -> None:
    """Its release is applied anew, so that its objects are known and followed again."""
    await damage(world, data={"release": "AAAA"})
    await told(world, "RecordUnreadable", f"Secret default/{RECORD}: not a valid Helm release record")
    await world.until(world.releases, ["a.v1 deployed", "a.v2 deployed"], "records")
    assert RECORD in world.modules()["a"]["records"][0]
    assert f"a: Secret default/{RECORD}: not a valid Helm release record" in conditions(world)["modules"]
    await world.delete("a")
    await world.becomes("a", x="z")
    await world.delete(RECORD, "secrets")
    await world.module_is("a", records=[], ready=True)


async def test_a_record_without_its_labels_is_reported_at_the_start(world: World) -> None:
    labels = {"owner": "helm", "name": "a", "version": "1", "status": "deployed"}
    await damage(world, metadata={"labels": dict.fromkeys(labels)})
    command = f"kubectl label --overwrite -n default secret {RECORD} owner=helm name=a version=1 status=deployed"
    await world.module_is("a", ready=False, reason=command)
    assert command in conditions(world)["modules"]
    await told(world, "ModuleFailed", command)
    await world.ask("PATCH", world.path(RECORD, "secrets"), {"metadata": {"labels": labels}})
    await world.configure(a="x: 1")
    await world.module_is("a", ready=True)
    assert await world.releases() == ["a.v1 deployed"]
