"""Words of YAML 1.1 in the configuration, and a `global` that is refused."""

import json

import pytest

from tests.flows.modules.hooks import configmap
from tests.flows.modules.world import World

DEBUG = "type: object\nproperties:\n  debug: {type: boolean}\n"
SHOWN = 'debug: {{ if .Values.global.debug }}"yes, {{ .Values.global.debug }}"{{ else }}"no"{{ end }}'


@pytest.fixture
def one(world: World) -> World:
    """With a module `a` that shows a global value."""
    world.module("010-a", {"templates/cm.yaml": configmap("a", SHOWN)})
    return world


@pytest.mark.parametrize("schema", [True, False])
async def test_off_in_the_global_section_is_false_with_a_schema_and_without(one: World, schema: bool) -> None:
    if schema:
        one.write("global-hooks/openapi/config-values.yaml", DEBUG)
    await one.configure(aEnabled="true", GLOBAL="debug: off", a="mode: on")
    await one.start()
    assert await one.map("a") == {"debug": "no"}
    assert (await one.operator.wait_log("are true or false here"))["keys"] == "/global/debug"
    assert (await one.operator.wait_log("are texts here"))["keys"] == "/a/mode"
    assert one.values("a") == {"mode": "on"}
    one.operator.flags = (*one.operator.flags, "--compat=addon-operator", "--config-map=hookrunner")
    before = len(one.operator.logs())
    await one.again()
    assert await one.map("a") == {"debug": "no"}
    assert "true or false here" not in json.dumps(one.operator.logs()[before:]), "there it has always been so"


async def test_a_global_section_refused_at_the_start_keeps_readyz_red_until_it_is_corrected(one: World) -> None:
    one.write("global-hooks/openapi/config-values.yaml", DEBUG)
    await one.configure(aEnabled="true", GLOBAL="debug: 7")
    await one.start(ready=False)
    await one.operator.not_ready("the section global is refused: global: debug must be of type boolean")
    assert one.operator.get("/readyz")[0] == 503
    assert await one.maps() == {}
    await one.configure(GLOBAL="debug: yes")
    await one.operator.ready()
    await one.becomes("a", debug="yes, true")
    await one.configure(GLOBAL="debug: 7")
    await one.operator.wait_log("the last good values stay in use")
    assert one.operator.get("/readyz")[0] == 200


async def test_a_module_section_refused_at_the_start_affects_only_its_module(one: World) -> None:
    one.module("020-b", {"openapi/config-values.yaml": DEBUG})
    await one.configure(aEnabled="true", bEnabled="true", b="debug: off")
    await one.start()
    await one.module_is("b", state="undecided", reason="b: debug must be of type boolean")
    assert "b: debug must be of type boolean" in one.operator.get("/readyz?output=json")[1]
    await one.configure(b="debug: false")
    await one.module_is("b", ready=True)
