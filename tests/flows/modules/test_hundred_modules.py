"""A hundred modules of which the first hangs: the others converge, and those that need it follow. Level: sandbox."""

from tests.flows.modules.hooks import configmap, hook, until_told
from tests.flows.modules.test_overtaking import CRD, THING
from tests.flows.modules.world import World
from tests.flows.waiting import until

OTHERS = [f"m{number:03}" for number in range(2, 99)]
CHARTS = OTHERS[::5]
"""Those with something to install."""


async def test_only_dependents_of_a_hanging_module_wait_among_a_hundred(world: World) -> None:
    """Its definitions in `crds/` are there at once, those in its templates when it is mended."""
    other = CRD.replace("thing", "other").replace("Thing", "Other")
    hanging = hook(until_told("go"), beforeHelm=1)
    world.module("001-m001", {"hooks/h.sh": hanging, "crds/thing.yaml": CRD, "templates/other.yaml": other})
    for name in OTHERS:
        world.module(f"{name[1:]}-{name}", {"templates/cm.yaml": configmap(name)} if name in CHARTS else {})
    world.module("099-m099", {"templates/thing.yaml": THING})
    world.module("100-m100", {"templates/other.yaml": THING.replace("Thing", "Other")})
    await world.configure(**{f"{name}Enabled": "true" for name in ["m001", *OTHERS, "m099", "m100"]})
    world.operator.flags = (*world.operator.flags, "--module-patience=1s")
    await world.start()
    await world.until(lambda: _unready(world), ["m001", "m100"], "who is not ready")
    assert sorted(await world.maps()) == CHARTS
    await until(lambda: world.failures("m100") >= 1, "a failure of m100")
    world.operator.tell("go")
    await world.until(lambda: _unready(world), [], "who is not ready")


async def _unready(world: World) -> list[str]:
    return [name for name, row in world.modules().items() if not row["ready"]]
