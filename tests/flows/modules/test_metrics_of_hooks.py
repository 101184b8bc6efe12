"""Every series about hooks of modules and global hooks: name, labels, value, and when it counts, as addon-operator has
them. One story with each kind of binding, of run and of failure, driven by real hooks; the tables are the oracle.

Level: sandbox."""

import contextlib
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import pytest

from tests.flows.modules.hooks import at, configmap, enabled, hook, until_told, watching
from tests.flows.modules.world import World
from tests.flows.waiting import until

Series: TypeAlias = dict[str, float]
"""Values by `name{labels}`; empty labels are left out, as Prometheus does."""

ONCE = 'if [ ! -e "$TOLD/$name.failed" ]; then mkdir -p "$TOLD/${name%/*}"; touch "$TOLD/$name.failed"; exit 1; fi\n'
"""Fail the first time."""

EVERY = {"name": "every", "crontab": "* * * * * *"}

GLOBAL_HOOKS = {
    "g.sh": hook(
        at("afterAll", until_told("go")), onStartup=1, beforeAll=1, afterAll=1, kubernetes=[watching("g-cms")]
    ),
    "once.sh": hook(ONCE, beforeAll=2),
    "queued.sh": hook(kubernetes=[watching("q-cms", queue="gq")]),
    "silent.sh": hook(kubernetes=[watching("s-cms", executeHookOnSynchronization=False)]),
    "tick.sh": hook(schedule=[{**EVERY, "queue": "gt"}]),
    "may-fail.sh": hook("exit 1", schedule=[{**EVERY, "queue": "gf", "allowFailure": True}]),
}
MODULE_HOOKS = {
    "h.sh": hook(
        onStartup=1, beforeHelm=2, afterHelm=1, beforeDeleteHelm=1, afterDeleteHelm=1, kubernetes=[watching()]
    ),
    "once.sh": hook(ONCE, beforeHelm=1),
    "queued.sh": hook(kubernetes=[watching("q-cms", queue="q")]),
    "silent.sh": hook(kubernetes=[watching("s-cms", executeHookOnSynchronization=False)]),
    "retried.sh": hook(at("Event", ONCE), kubernetes=[watching("r-cms", queue="r")]),
    "tick.sh": hook(schedule=[{**EVERY, "queue": "t"}]),
    "may-fail.sh": hook("exit 1", kubernetes=[watching("f-cms", queue="f", allowFailure=True)]),
}

# Runs, processes that ended well, successes, errors, allowed errors. `+` is one or more, `-` no such series.
GLOBAL_RUNS = """
g.sh        onStartup  main OperatorStartup  1 1  1 0 0
g.sh        beforeAll  main OperatorStartup  1 1  1 0 0
g.sh        afterAll   main OperatorStartup  1 1  1 0 0
g.sh        kubernetes main OperatorStartup  1 1  1 0 0
g.sh        kubernetes main .                1 1  1 0 0
once.sh     beforeAll  main OperatorStartup  2 1  1 1 0
queued.sh   kubernetes gq   OperatorStartup  1 1  1 0 0
queued.sh   kubernetes gq   .                1 1  1 0 0
silent.sh   kubernetes main OperatorStartup  1 -  - - -
silent.sh   kubernetes main .                1 1  1 0 0
tick.sh     schedule   gt   .                + +  + 0 0
may-fail.sh schedule   gf   .                + -  0 0 +
"""
MODULE_RUNS = """
enabled           enabled          main OperatorStartup  1 1  - - -
hooks/h.sh        onStartup        main OperatorStartup  1 1  - - -
hooks/h.sh        kubernetes       main OperatorStartup  1 1  1 0 0
hooks/h.sh        kubernetes       main .                1 1  1 0 0
hooks/h.sh        beforeHelm       main OperatorStartup  1 1  - - -
hooks/h.sh        afterHelm        main OperatorStartup  1 1  - - -
hooks/once.sh     beforeHelm       main OperatorStartup  2 1  - - -
hooks/queued.sh   kubernetes       q    OperatorStartup  1 1  1 0 0
hooks/queued.sh   kubernetes       q    .                1 1  1 0 0
hooks/silent.sh   kubernetes       main OperatorStartup  1 -  - - -
hooks/silent.sh   kubernetes       main .                1 1  1 0 0
hooks/retried.sh  kubernetes       r    OperatorStartup  1 1  1 0 0
hooks/retried.sh  kubernetes       r    .                2 1  1 1 0
hooks/tick.sh     schedule         t    .                + +  + 0 0
hooks/may-fail.sh kubernetes       f    OperatorStartup  1 -  0 0 1
hooks/may-fail.sh kubernetes       f    .                1 -  0 0 1
"""
# … once the module was turned off, which is another converge.
LATER_GLOBAL_RUNS = """
g.sh        beforeAll  main .                1 1  1 0 0
g.sh        afterAll   main .                1 1  1 0 0
once.sh     beforeAll  main .                1 1  1 0 0
"""
LATER_MODULE_RUNS = """
hooks/h.sh        beforeDeleteHelm main .                1 1  - - -
hooks/h.sh        afterDeleteHelm  main .                1 1  - - -
"""
FAMILIES = (
    ("run_seconds_count",),
    ("run_user_cpu_seconds_count", "run_sys_cpu_seconds_count"),
    ("success_total",),
    ("errors_total",),
    ("allowed_errors_total",),
)

# module, hook, bindings.
BINDINGS = """
.   g.sh              4
.   once.sh           1
.   queued.sh         1
.   silent.sh         1
.   tick.sh           1
.   may-fail.sh       1
a   hooks/h.sh        6
a   hooks/once.sh     1
a   hooks/queued.sh   1
a   hooks/silent.sh   1
a   hooks/retried.sh  1
a   hooks/tick.sh     1
a   hooks/may-fail.sh 1
"""

# module, hook, binding, queue: what is known of objects, of which there are two in each snapshot.
SNAPSHOTS = """
. g.sh              g-cms main
. queued.sh         q-cms gq
. silent.sh         s-cms main
a hooks/h.sh        cms   main
a hooks/queued.sh   q-cms q
a hooks/silent.sh   s-cms main
a hooks/retried.sh  r-cms r
a hooks/may-fail.sh f-cms f
"""

# module, hook, binding, queue.
WAITED = """
. g.sh              onStartup                          main
. g.sh              beforeAll                          main
. g.sh              afterAll                           main
. g.sh              g-cms                              main
. g.sh              GlobalHookEnableKubernetesBindings main
. once.sh           beforeAll                          main
. queued.sh         q-cms                              gq
. queued.sh         GlobalHookEnableKubernetesBindings main
. silent.sh         s-cms                              main
. silent.sh         GlobalHookEnableKubernetesBindings main
. tick.sh           every                              gt
. tick.sh           GlobalHookEnableScheduleBindings   main
. may-fail.sh       every                              gf
. may-fail.sh       GlobalHookEnableScheduleBindings   main
a .                 ModuleRun                          main
a hooks/h.sh        cms                                main
a hooks/queued.sh   q-cms                              q
a hooks/silent.sh   s-cms                              main
a hooks/retried.sh  r-cms                              r
a hooks/tick.sh     every                              t
a hooks/may-fail.sh f-cms                              f
"""

MODULE = """
module_run_errors_total{module="a"} 1
module_run_seconds_count{activation="OperatorStartup",module="a"} 2
module_helm_seconds_count{activation="OperatorStartup",module="a"} 1
helm_operation_seconds_count{activation="OperatorStartup",module="a",operation="check-upgrade"} 1
helm_operation_seconds_count{activation="OperatorStartup",module="a",operation="template"} 1
helm_operation_seconds_count{activation="OperatorStartup",module="a",operation="upgrade"} 1
convergence_total{activation="OperatorStartup"} 1
mm_module_info{critical="true",enabled="true",module="a"} 1
"""


@pytest.mark.parametrize("compat", ["", "addon-operator"])
async def test_hooks_of_modules_and_global_hooks_are_measured_as_by_addon_operator(world: World, compat: str) -> None:
    await started(world, compat)
    prefix, config = ("addon_operator_", "addon-operator") if compat else ("hookrunner_", "hookrunner")
    found = partial(scraped, world, prefix)
    head = 'tasks_queue_head_info{hook="g.sh",queue="main",task_type="GlobalHookRun"}'
    await until(lambda: found().get(head) == 1, "the last global hook at the head of its queue")
    world.operator.tell("go")
    await world.operator.ready()
    await world.create("second", watched="y")
    runs = [*of_runs("global_hook", GLOBAL_RUNS, {}), *of_runs("module_hook", MODULE_RUNS, {"module": "a"})]
    rows = dict([*runs, *of_bindings(), *of_snapshots(), *of_waiting(WAITED), *of_the_module()])
    await measured(lambda: differing(found(), rows))
    await world.configure(config, aEnabled="false")
    await world.module_is("a", phase="", ready=False)
    rows = {
        **dict(runs),
        **dict(of_runs("global_hook", LATER_GLOBAL_RUNS, {})),
        **dict(of_runs("module_hook", LATER_MODULE_RUNS, {"module": "a"})),
        **dict(of_waiting(f"{WAITED}a . ModuleDelete main")),
        **{series: wanted for series, wanted in of_bindings() if 'module="a"' not in series},
        **dict(of_the_module()),
        'mm_module_info{critical="true",enabled="false",module="a"}': "1",
    }
    del rows['mm_module_info{critical="true",enabled="true",module="a"}']
    await measured(lambda: {k: v for k, v in differing(found(), rows).items() if not k.startswith("convergence")})


async def test_log_records_name_a_hook_as_metrics_and_queues_do(world: World) -> None:
    body = at("Event", f"echo heard\n{until_told('go')}")
    world.module("010-a", {"hooks/h.sh": hook(body, kubernetes=[watching(queue="q")])})
    world.write("global-hooks/g.sh", hook("echo heard too", onStartup=1))
    world.write("modules/values.yaml", "aEnabled: true\n")
    await world.start()
    await world.create("one", watched="y")
    found = await until(lambda: of_logs(world, "heard"), "what the hook prints")
    assert found == [("hooks/h.sh", "a")]
    assert of_logs(world, "heard too") == [("g.sh", "global")]
    assert world.operator.metric("hook_running_seconds", hook="hooks/h.sh", module="a", queue="q") > 0
    [task] = world.operator.queue_list()["q"]
    assert task.startswith("ModuleHookRun:q:kubernetes:hooks/h.sh:module=a:cms:running for ")
    world.operator.tell("go")
    await until(lambda: not world.operator.queue_list()["q"], "the end of the run")
    words = {record["hook"] for record in world.operator.logs() if "hook" in record}
    assert words == {"hooks/h.sh", "g.sh"}


async def measured(differences: Callable[[], object]) -> None:
    """Wait until no difference is left."""
    with contextlib.suppress(TimeoutError):
        await until(lambda: not differences(), "")
    assert not differences()


def of_logs(world: World, message: str) -> list[tuple[str, str]]:
    return [(r["hook"], r["module"]) for r in world.operator.logs() if r["msg"] == message]


async def started(world: World, compat: str) -> None:
    """A module and global hooks that have begun, with one object to see."""
    world.operator.flags += (f"--compat={compat}",) if compat else ()
    for name, text in GLOBAL_HOOKS.items():
        world.write(f"global-hooks/{name}", text)
    world.module("010-a", {f"hooks/{name}": text for name, text in MODULE_HOOKS.items()})
    world.module("010-a", {"templates/cm.yaml": configmap("made", "x: '1'")})
    world.module("010-a", {"enabled": enabled('echo true > "$MODULE_ENABLED_RESULT"')})
    world.write("modules/values.yaml", "aEnabled: true\n")
    await world.create("first", watched="y")
    await world.start(ready=False)


def scraped(world: World, prefix: str) -> Series:
    """All series with this prefix, without it, and of histograms the counts."""
    lines = (line for line in world.operator.get("/metrics")[1].splitlines() if line.startswith(prefix))
    samples = (line.removeprefix(prefix).rpartition(" ") for line in lines if not re.search(r"_(bucket|sum)\b", line))
    return {
        shown(series.partition("{")[0], dict(re.findall(r'(\w+)="([^"]*)"', series))): float(value)
        for series, _, value in samples
    }


def shown(name: str, labels: dict[str, str]) -> str:
    pairs = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()) if value)
    return f"{name}{{{pairs}}}"


def differing(found: Series, rows: dict[str, str]) -> dict[str, tuple[float | None, str | None]]:
    """Value and wanted value where they differ, in all families of the rows; missing and unexpected series, too."""
    families = {series.partition("{")[0] for series in rows}
    there = {series: value for series, value in found.items() if series.partition("{")[0] in families}
    return {
        series: (there.get(series), rows.get(series))
        for series in {*there, *rows}
        if not holds(there.get(series), rows.get(series))
    }


def holds(value: float | None, wanted: str | None) -> bool:
    if value is None or wanted is None:
        return False
    return value >= (1 if wanted == "+" else 0) if wanted in "+*" else value == float(wanted)


def cells(table: str) -> Iterator[list[str]]:
    return ([re.sub(r"^\.$", "", cell) for cell in row.split()] for row in table.strip().splitlines())


def of_runs(kind: str, table: str, labels: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name, binding, queue, activation, *values in cells(table):
        row = {"hook": name, "binding": binding, "queue": queue, "activation": activation, **labels}
        for families, value in zip(FAMILIES, values, strict=True):
            yield from ((shown(f"{kind}_{family}", row), value) for family in families if value != "-")
        if values[1] != "-":
            yield shown(f"{kind}_run_max_rss_bytes", row), "+"


def of_bindings() -> Iterator[tuple[str, str]]:
    for module, name, count in cells(BINDINGS):
        yield shown("binding_count", {"module": module, "hook": name}), count


def of_snapshots() -> Iterator[tuple[str, str]]:
    for module, name, binding, queue in cells(SNAPSHOTS):
        row = {"module": module, "hook": name, "binding": binding, "queue": queue, "kind": "ConfigMap"}
        yield shown("kube_snapshot_objects", row), "2"
        yield shown("kube_jq_filter_duration_seconds_count", row), "2"
        yield shown("kube_event_duration_seconds_count", row), "1"


def of_waiting(table: str) -> Iterator[tuple[str, str]]:
    for module, name, binding, queue in cells(table):
        row = {"module": module, "hook": name, "binding": binding, "queue": queue}
        yield shown("task_wait_in_queue_seconds_total", row), "*"


def of_the_module() -> Iterator[tuple[str, str]]:
    return ((row.rpartition(" ")[0], row.rpartition(" ")[2]) for row in MODULE.strip().splitlines())
