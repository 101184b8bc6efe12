"""Words of YAML 1.1 in the configuration, and a `global` that is refused. Level: sandbox."""

import json

import pytest

from tests.flows.modules.hooks import configmap
from tests.flows.modules.world import World

DEBUG = "type: object\nproperties:\n  debug: {type: boolean}\n"
SHOWN = 'debug: {{ if .Values.global.debug }}"yes, {{ .Values.global.debug }}"{{ else }}"no"{{ end }}'


@pytest.fixture
def prepared(world: World) -> World:
    """With a module `a` that shows a global value."""
    world.module("010-a", {"templates/cm.yaml": configmap("a", SHOWN)})
    return world


@pytest.mark.parametrize("schema", [True, False])
async def test_off_in_the_global_section_is_false_with_a_schema_and_without(prepared: World, schema: bool) -> None:
    if schema:
        prepared.write("global-hooks/openapi/config-values.yaml", DEBUG)
    await prepared.configure(aEnabled="true", GLOBAL="debug: off", a="mode: on")
    await prepared.start()
    assert await prepared.map("a") == {"debug": "no"}
    assert (await prepared.operator.wait_log("are true or false here"))["keys"] == "/global/debug"
    assert (await prepared.operator.wait_log("are texts here"))["keys"] == "/a/mode"
    assert prepared.values("a") == {"mode": "on"}
    prepared.operator.flags = (*prepared.operator.flags, "--compat=addon-operator", "--config-map=hookrunner")
    before = len(prepared.operator.logs())
    await prepared.again()
    assert await prepared.map("a") == {"debug": "no"}
    assert "true or false here" not in json.dumps(prepared.operator.logs()[before:]), "there it has always been so"


async def test_a_global_section_refused_at_the_start_keeps_readyz_red_until_it_is_corrected(prepared: World) -> None:
    prepared.write("global-hooks/openapi/config-values.yaml", DEBUG)
    await prepared.configure(aEnabled="true", GLOBAL="debug: 7")
    await prepared.start(ready=False)
    await prepared.operator.not_ready("the section global is refused: global: debug must be of type boolean")
    assert prepared.operator.get("/readyz")[0] == 503
    assert await prepared.maps() == {}
    await prepared.configure(GLOBAL="debug: yes")
    await prepared.operator.ready()
    await prepared.becomes("a", debug="yes, true")
    await prepared.configure(GLOBAL="debug: 7")
    await prepared.operator.wait_log("the last good values stay in use")
    assert prepared.operator.get("/readyz")[0] == 200


async def test_a_module_section_refused_at_the_start_affects_only_its_module(prepared: World) -> None:
    prepared.module("020-b", {"openapi/config-values.yaml": DEBUG})
    await prepared.configure(aEnabled="true", bEnabled="true", b="debug: off")
    await prepared.start()
    await prepared.module_is("b", state="undecided", reason="b: debug must be of type boolean")
    assert "b: debug must be of type boolean" in prepared.operator.get("/readyz?output=json")[1]
    await prepared.configure(b="debug: false")
    await prepared.module_is("b", ready=True)
