"""Charts that read `.Capabilities` are rendered again when the cluster serves other kinds (docs/decisions.md, 47).

Level: sandbox."""

from tests.flows.modules.hooks import configmap, hook
from tests.flows.modules.test_overtaking import CRD
from tests.flows.modules.world import World

TOLD = 'things: {{ .Capabilities.APIVersions.Has "example.com/v1/Thing" | quote }}'


async def test_a_chart_that_checks_for_a_kind_is_rendered_again_when_the_kind_comes_and_goes(world: World) -> None:
    world.module("010-a", {"templates/cm.yaml": configmap("a", TOLD)})
    world.module("020-b", {"templates/crd.yaml": CRD})
    await world.configure(aEnabled="true")
    await world.start()
    assert await world.map("a") == {"things": "false"}
    await world.configure(bEnabled="true")
    await world.becomes("a", things="true")
    await world.configure(bEnabled="false")
    await world.becomes("a", things="false")


async def test_a_chart_that_reads_capabilities_runs_once_more_for_its_own_definition(world: World) -> None:
    files = {"templates/cm.yaml": configmap("a", TOLD), "templates/crd.yaml": CRD, "hooks/h.sh": hook(beforeHelm=1)}
    world.module("010-a", files)
    await world.configure(aEnabled="true")
    await world.start()
    await world.becomes("a", things="true")
    await world.module_is("a", ready=True)
    assert world.counts() == {"a/h.sh beforeHelm": 2}
