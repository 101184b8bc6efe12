"""A module that fails is retried and delays nothing. Level: sandbox."""

from tests.flows.modules.hooks import at, hook, unless
from tests.flows.modules.world import World


async def test_after_all_hooks_run_once_although_a_module_is_parked(world: World) -> None:
    world.write("global-hooks/g.sh", hook(afterAll=1))
    world.module("010-a", {"hooks/h.sh": hook(unless("mended"), beforeHelm=1)})
    await world.configure(aEnabled="true")
    await world.start()
    assert world.history("afterAll") == ["global/g.sh afterAll"]
    world.operator.tell("mended")
    await world.configure(a="x: 1")
    await world.module_is("a", ready=True)
    assert world.history()[-1] == "a/h.sh beforeHelm"
    assert world.history("afterAll") == ["global/g.sh afterAll"]


async def test_a_failed_deletion_is_retried_and_delays_nothing(world: World) -> None:
    broken = at("afterDeleteHelm", unless("mended"))
    world.module("010-a", {"hooks/h.sh": hook(beforeHelm=1, afterDeleteHelm=1)})
    world.module("020-b", {"hooks/h.sh": hook(broken, beforeHelm=1, afterDeleteHelm=1)})
    world.module("030-c", {"hooks/h.sh": hook(beforeHelm=1)})
    await world.configure(aEnabled="true", bEnabled="true")
    await world.start()
    await world.configure(aEnabled="false", bEnabled="false", cEnabled="true")
    await world.ran("c/h.sh beforeHelm")
    await world.ran("a/h.sh afterDeleteHelm")
    assert world.modules()["b"]["phase"] != ""
    world.operator.tell("mended")
    await world.module_is("b", phase="")


async def test_a_corrected_section_and_a_changed_flag_lead_to_a_whole_round(world: World) -> None:
    world.write("global-hooks/g.sh", hook(beforeAll=1))
    world.module("010-a", {"openapi/config-values.yaml": "properties: {x: {type: integer}}\n"})
    world.module("020-b", {"hooks/h.sh": hook(beforeHelm=1)})
    await world.configure(aEnabled="true", a="x: one")
    await world.start()
    assert len(world.history("beforeAll")) == 1
    await world.configure(a="x: 1")
    await world.ran("beforeAll", 2)
    await world.configure(bEnabled="true")
    await world.ran("beforeAll", 3)
    await world.ran("b/h.sh beforeHelm")
