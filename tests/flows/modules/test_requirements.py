"""What modules require of each other and of the cluster: order, switching off, and the reasons shown.

Level: control plane."""

import json

from tests.flows.modules.hooks import configmap, hook, until_told
from tests.flows.modules.test_module_status import told
from tests.flows.modules.world import World

VERSION = configmap("db", "slow: {{ .Values.global.slow | default false | quote }}")
NAMES = ("late", "early", "one", "two", "lonely", "modern")


async def test_requirements_decide_which_modules_run_in_which_order_and_give_reasons(world: World) -> None:
    """`early` comes after what it requires, whatever the weights; a cycle concerns only its own modules."""
    requires = {
        "010-early": "modules: [late >=1.2]",
        "030-one": "modules: [two]",
        "040-two": "modules: [one]",
        "050-lonely": "modules: [missing]",
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
    for words in ("one: undecided: ", "two: undecided: ", "lonely: off: ", "missing", "modern: off: "):
        assert words in text


async def test_an_edit_keeps_the_order_that_weights_and_requirements_ask_for(real: World) -> None:
    """On the real control plane: a low weight that is turned on later runs before the hooks and lookups of others, and
    what requires a database is upgraded after it."""
    lookup = '{{ (lookup "v1" "ConfigMap" .Release.Namespace "low").data | toJson | quote }}'
    upgraded = f'if grep -q \'"slow":true\' "$VALUES_PATH"; then {until_told("go")} fi'
    real.module("010-low", {"hooks/h.sh": hook("sleep 1", beforeHelm=1), "templates/cm.yaml": configmap("low", "x: z")})
    real.module("020-db", {"hooks/h.sh": hook(upgraded, beforeHelm=1), "templates/cm.yaml": VERSION})
    app = {"hooks/h.sh": hook(beforeHelm=1), "templates/cm.yaml": configmap("app", f"low: {lookup}")}
    real.module("030-app", {**app, "module.yaml": "requires: {modules: [db]}\n"})
    real.module("040-high", {**app, "templates/cm.yaml": configmap("high", f"low: {lookup}")})
    await real.configure(dbEnabled="true", appEnabled="true", highEnabled="true")
    await real.start()
    assert await real.map("high") == {"low": "null"}
    real.forget()
    await real.configure(lowEnabled="true")
    await real.becomes("high", low='{"x":"z"}')
    runs = real.history()
    assert runs.index("low/h.sh beforeHelm") < runs.index("high/h.sh beforeHelm")
    await real.becomes("app", low='{"x":"z"}')
    await real.module_is("app", ready=True)
    real.forget()
    real.writes()
    await real.configure(GLOBAL="slow: true")
    for name in ("low", "db", "high"):
        await real.ran(f"{name}/h.sh beforeHelm")
    assert real.history("app/") == [], "the others have not waited for it, and it waits for the database"
    real.operator.tell("go")
    await real.ran("app/h.sh beforeHelm")
    assert await real.map("db") == {"slow": "true"}
