"""What modules require of each other and of the cluster (design.md §4.2)."""

import json

from tests.flows.modules.hooks import hook
from tests.flows.modules.test_seen import told
from tests.flows.modules.world import World

NAMES = ("late", "early", "one", "two", "lonely", "modern")


async def test_requirements_decide_who_runs_and_when_and_it_is_said_why_not(world: World) -> None:
    """`early` comes after what it requires, whatever the weights; a circle is nobody else's business."""
    requires = {
        "010-early": "modules: [late >=1.2]",
        "030-one": "modules: [two]",
        "040-two": "modules: [one]",
        "050-lonely": "modules: [nobody]",
        "060-modern": "kubernetes: '>=9'",
    }
    for directory, text in requires.items():
        world.module(directory, {"hooks/h.sh": hook(beforeHelm=1), "module.yaml": f"requires: {{{text}}}\n"})
    world.module("020-late", {"hooks/h.sh": hook(beforeHelm=1), "module.yaml": "version: 1.3.0\n"})
    await world.configure(**{f"{name}Enabled": "true" for name in (*NAMES, "tpyo")})
    await world.start()
    assert world.history() == ["late/h.sh beforeHelm", "early/h.sh beforeHelm"]
    rows = world.modules()
    assert {name: rows[name]["state"] for name in NAMES} == {
        **dict.fromkeys(("late", "early"), "on"),
        **dict.fromkeys(("one", "two"), "undecided"),
        **dict.fromkeys(("lonely", "modern"), "off"),
    }
    await told(world, "UnknownModule", "tpyo: there is no module")
    conditions = json.loads(world.operator.get("/readyz?output=json")[1])["conditions"]
    (text,) = [condition["message"] for condition in conditions if condition["name"] == "modules"]
    for words in ("one: undecided: ", "two: undecided: ", "lonely: off: ", "nobody", "modern: off: "):
        assert words in text
