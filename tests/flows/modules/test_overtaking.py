"""A module that fails, hangs or lacks something does not delay others, and heals by itself. Level: sandbox."""

from tests.flows.modules.hooks import hook, unless, until_told
from tests.flows.modules.world import World
from tests.flows.waiting import until

THING = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: first}\n"
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""
LATER = [f"m{number:02}" for number in range(2, 31)]


def thirty(world: World, first: str) -> dict[str, str]:
    """Thirty modules with a hook each; what turns them on."""
    for number, name in enumerate(["m01", *LATER], 1):
        world.module(f"{number:03}-{name}", {"hooks/h.sh": hook(first if name == "m01" else "", beforeHelm=1)})
    return {f"{name}Enabled": "true" for name in ["m01", *LATER]}


def overtaken(world: World) -> None:
    """The others have not waited for another attempt of the first, which may have come while they were at it."""
    assert world.history()[:2] == ["m01/h.sh beforeHelm", "m02/h.sh beforeHelm"]
    others = [run for run in world.history() if not run.startswith("m01")]
    assert others == [f"{name}/h.sh beforeHelm" for name in LATER]


async def test_29_modules_overtake_one_that_fails_or_hangs(world: World) -> None:
    """No module waits for one that fails, whatever the patience; one that hangs is passed when the patience ends."""
    await world.configure(**thirty(world, unless("failing", "exit 0") + unless("mended")))
    world.operator.flags = (*world.operator.flags, "--module-patience=1h")
    await world.again()
    world.operator.tell("failing")
    await world.again()
    overtaken(world)
    assert "m01: m01/hooks/h.sh FAILED: broken" in world.operator.get("/readyz?output=json")[1]
    assert world.operator.metric("module_run_errors_total", module="m01") >= 1
    world.operator.tell("mended")
    await world.module_is("m01", ready=True, state="on")
    thirty(world, until_told("go"))
    world.operator.flags = (*world.operator.flags, "--module-patience=1s")
    await world.again()
    everyone = {f"{name}/h.sh beforeHelm" for name in ["m01", *LATER]}  # a slow one may be passed like the first
    await until(lambda: {*world.history()} == everyone, "a run of each module while the first hangs")
    assert (world.history()[0], world.counts()["m01/h.sh beforeHelm"]) == ("m01/h.sh beforeHelm", 1)
    world.operator.tell("go")
    await world.module_is("m01", ready=True)


async def test_a_module_that_needs_a_definition_of_a_later_one_becomes_ready_soon(world: World) -> None:
    """From its templates; those in `crds/` come before all modules."""
    world.module("010-a", {"templates/thing.yaml": THING})
    world.module("020-b", {"templates/crd.yaml": CRD, "hooks/h.sh": hook(until_told("go"), beforeHelm=1)})
    other = CRD.replace("thing", "other").replace("Thing", "Other")
    world.module("030-c", {"templates/other.yaml": THING.replace("Thing", "Other")})
    world.module("040-d", {"crds/other.yaml": other, "hooks/h.sh": hook(beforeHelm=1)})
    await world.configure(aEnabled="true", bEnabled="true", cEnabled="true", dEnabled="true")
    await world.start(ready=False)
    await world.fails_often("a")
    failures = world.failures("a")
    world.operator.tell("go")
    await world.operator.ready()
    await world.module_is("a", ready=True)
    assert world.failures("a") == failures
    assert [one.split()[1] for one in await world.releases() if one.startswith("a.")].count("deployed") == 1
    assert world.operator.metric("module_run_errors_total", module="c") == 0
    assert "first" in str(await world.ask("GET", "/apis/example.com/v1/namespaces/default/things", None))
