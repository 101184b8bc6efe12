"""What fails for want of another module is mended with it (design.md §4.2)."""

from tests.flows.modules.hooks import hook, unless
from tests.flows.modules.world import World


async def test_when_a_module_heals_those_that_failed_after_it_are_tried_at_once(world: World) -> None:
    makes = unless("mended") + 'touch "$TOLD/made"\n'
    world.module("010-a", {"hooks/h.sh": hook(makes, beforeHelm=1)})
    world.module("020-b", {"hooks/h.sh": hook(unless("made"), beforeHelm=1)})
    await world.configure(aEnabled="true", bEnabled="true")
    await world.start()
    await world.fails_often("b")
    world.operator.tell("mended")
    failures = world.failures("b")
    await world.configure(a="x: 1")
    await world.module_is("b", ready=True)
    assert world.failures("b") == failures
    assert world.history()[-2:] == ["a/h.sh beforeHelm", "b/h.sh beforeHelm"]
