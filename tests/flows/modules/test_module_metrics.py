"""Metrics of modules, with the labels that addon-operator's dashboards use. Level: sandbox."""

import pytest

from tests.flows.modules.hooks import configmap, enabled, hook, watching
from tests.flows.modules.world import World

START = "OperatorStartup"


async def test_what_belongs_to_the_start_is_measured_apart_from_what_comes_later(world: World) -> None:
    world.module("010-a", {"templates/cm.yaml": configmap("a", "x: {{ .Values.a.x | default 0 | quote }}")})
    script = hook(onStartup=1, beforeHelm=1, kubernetes=[watching()])
    world.module("010-a", {"hooks/h.sh": script, "module.yaml": "version: 1.2.3\n"})
    world.module("010-a", {"enabled": enabled('echo true > "$MODULE_ENABLED_RESULT"')})
    await world.configure(aEnabled="true")
    await world.start()
    _measured(world, START, runs=1)
    assert world.operator.metric("convergence_total", activation=START) == 1
    await world.configure(a="x: 1")
    await world.becomes("a", x="1")
    await world.module_is("a", ready=True)
    _measured(world, START, runs=1)
    _measured(world, "", runs=1)
    await world.delete("a")
    await world.becomes("a", x="1")
    await world.module_is("a", ready=True, drift=[])
    for name in ("modules_helm_release_redeployed_total", "modules_absent_resources_total"):
        assert world.operator.metric(name, module="a") == 1
    assert world.operator.metric("module_hook_run_seconds_count", module="a", hook="enabled", activation=START) == 1
    assert world.operator.metric("mm_module_enabled", module="a", version="1.2.3") == 1
    assert world.operator.metric("module_last_success_timestamp_seconds", module="a") == pytest.approx(2e9, rel=0.5)


def _measured(world: World, activation: str, runs: int) -> None:
    """So many runs of the module, in which everything happened once; some only in the first."""
    labels = {"module": "a", "activation": activation}
    bindings = ["onStartup", "kubernetes", "beforeHelm"] if activation else ["beforeHelm"]
    for name in ("module_run_seconds_count", "module_helm_seconds_count"):
        assert world.operator.metric(name, **labels) == runs, name
    for operation in ("check-upgrade", "template", "upgrade"):
        assert world.operator.metric("helm_operation_seconds_count", operation=operation, **labels) == runs
    for binding in bindings:
        name = "module_hook_run_seconds_count"
        assert world.operator.metric(name, hook="hooks/h.sh", binding=binding, **labels) == runs, binding
