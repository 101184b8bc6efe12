"""Objects that a user deletes come back, also if they went while the program was down, and nothing else is written.

Level: sandbox."""

from tests.flows.modules.hooks import configmap
from tests.flows.modules.world import World

TWO = {"templates/one.yaml": configmap("one", "x: z"), "templates/two.yaml": configmap("two", "x: z")}


async def test_deleted_objects_are_restored(world: World) -> None:
    world.module("010-a", TWO)
    await world.configure(aEnabled="true")
    await world.start()
    world.writes()
    await world.delete("one")
    await world.becomes("one", x="z")
    assert [line for line in world.writes() if line != "DELETE configmaps/one"] == ["POST configmaps"]


async def test_objects_deleted_while_the_program_was_down_are_restored(world: World) -> None:
    world.module("010-a", TWO)
    await world.configure(aEnabled="true")
    await world.start()
    await world.stop()
    await world.delete("two")
    await world.start()
    await world.becomes("two", x="z")
    assert await world.releases() == ["a.v1 deployed"]


async def test_an_object_deleted_right_after_an_upgrade_is_restored_in_its_new_form(world: World) -> None:
    world.module("010-a", {"templates/one.yaml": configmap("one", "x: {{ .Values.a.x | quote }}")})
    await world.configure(aEnabled="true", a="x: old")
    await world.start()
    await world.configure(a="x: new")
    await world.becomes("one", x="new")
    await world.delete("one")
    await world.becomes("one", x="new")


async def test_a_changed_field_is_reported_until_it_is_undone(world: World) -> None:
    """With `driftDetection: warn` it stays until its author undoes it."""
    world.module("010-a", TWO | {"module.yaml": "driftDetection: warn\n"})
    await world.configure(aEnabled="true")
    await world.start()
    await world.configure("one", x="edited")
    await world.module_is("a", drift=["default/ConfigMap/one"], ready=True)
    assert world.operator.metric("module_drift", module="a") == 1
    assert "a: not as applied: default/ConfigMap/one" in world.operator.get("/readyz?output=json")[1]
    await world.configure("one", x="z")
    await world.module_is("a", drift=[])
    assert world.operator.metric("module_drift", module="a") == 0
    assert "not as applied" not in world.operator.get("/readyz?output=json")[1]
    assert await world.releases() == ["a.v1 deployed"]
