"""Order, retries, merging and parallel queues as hooks see them. Level: control plane."""

import asyncio
import re

from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.operator import Operator
from tests.flows.scripts import FAIL_ALWAYS, FAIL_ONCE, HOLD, configmaps, hook, watching
from tests.flows.waiting import stays, until

EVENTS_FAIL_ONCE = f'grep -q Event "$BINDING_CONTEXT_PATH" || exit 0\n{FAIL_ONCE}'
EVENTS_FAIL_AT_FIRST = (
    'grep -q Event "$BINDING_CONTEXT_PATH" || exit 0\n[ -e "$TOLD/go" ] || { echo "not yet" >&2; exit 1; }\n'
)
"""Until the test tells `go`."""
NOTE = 'echo "$name $(head -c 60 "$BINDING_CONTEXT_PATH")" >> "$TOLD/order"\n'


async def test_a_start_runs_hooks_in_the_order_of_shell_operator(operator: Start, cms: ConfigMaps) -> None:
    """onStartup by number, then each hook's bindings, hooks by name."""
    binding, tick = [configmaps(cms.namespace)], [{"name": "tick", "crontab": "* * * * * *"}]
    scripts = {
        "hook01.sh": hook({"onStartup": 20, "kubernetes": binding}, NOTE),
        "hook02.sh": hook({"onStartup": 1, "schedule": tick}, NOTE),
        "hook03.sh": hook({"onStartup": 10, "kubernetes": binding, "schedule": tick}, NOTE),
    }
    program = await operator(scripts)
    began = [line.split('"')[0].split()[0] for line in (program.told / "order").read_text().splitlines()]
    assert began[:4] == ["hook02.sh", "hook03.sh", "hook01.sh", "hook01.sh"]
    kinds = [context.get("type", "onStartup") for context in program.contexts("hook03.sh")]
    assert kinds[:2] == ["onStartup", "Synchronization"]


async def test_a_failing_hook_delays_only_its_own_queue(operator: Start, cms: ConfigMaps) -> None:
    scripts = {
        "a.sh": watching(cms.namespace, EVENTS_FAIL_AT_FIRST),
        "b.sh": watching(cms.namespace),
        "c.sh": watching(cms.namespace, queue="other"),
    }
    program = await operator(scripts)
    cms.create("new")
    await program.hears("c.sh", 1)
    await program.hears("a.sh", 1)
    shown = await until(lambda: [text for text in program.queue_list()["main"] if "failures" in text], "the failure")
    assert re.match(r"HookRun:main:kubernetes:a\.sh:cms:failures \d+:a\.sh FAILED: not yet", shown[0])
    await stays(lambda: not program.events("b.sh"), "b.sh waits behind a.sh", 1)
    program.tell("go")
    await program.hears("b.sh", 1)
    attempts = program.events("a.sh")
    assert attempts == [("Added", "new")] * len(attempts)
    assert program.metric("hook_run_errors_total", hook="a.sh") == len(attempts) - 1 > 0


async def test_a_parked_failure_lets_other_hooks_pass_and_keeps_its_own_in_order(
    operator: Start, cms: ConfigMaps
) -> None:
    settings = {"onFailure": "park", "combine": False}
    scripts = {"a.sh": watching(cms.namespace, EVENTS_FAIL_AT_FIRST, settings), "b.sh": watching(cms.namespace)}
    program = await operator(scripts)
    for name in ("one", "two"):
        cms.create(name)
    await program.hears("b.sh", 2)
    program.tell("go")
    told = await until(lambda: e if ("Added", "two") in (e := program.events("a.sh")) else [], "the second event")
    assert told == [*[("Added", "one")] * (len(told) - 1), ("Added", "two")]
    assert len(told) > 2


async def test_after_the_last_attempt_the_task_is_dropped_and_reported(operator: Start, cms: ConfigMaps) -> None:
    settings = {"maxAttempts": 1}
    program = await operator({"a.sh": watching(cms.namespace, FAIL_ALWAYS, settings), "b.sh": watching(cms.namespace)})
    cms.create("new")
    assert await program.hears("a.sh", 1) == await program.hears("b.sh", 1) == [("Added", "new")]
    await until(lambda: program.metric("tasks_dropped_total", hook="a.sh") == 2, "two dropped tasks")
    assert "2 dropped" in program.get("/readyz")[1]


async def test_an_allowed_failure_is_counted_and_the_queue_goes_on(operator: Start, cms: ConfigMaps) -> None:
    program = await operator({"a.sh": watching(cms.namespace, FAIL_ALWAYS, allowFailure=True)})
    cms.create("new")
    await program.hears("a.sh", 1)
    await until(lambda: program.metric("hook_run_allowed_errors_total", hook="a.sh") == 2, "two allowed errors")
    assert program.metric("hook_run_errors_total", hook="a.sh") == 0
    await until(lambda: not any(program.queue_list().values()), "empty queues")


async def four_at_once(operator: Start, cms: ConfigMaps, script: str) -> Operator:
    """h.sh after four objects were created while another hook held the queue up."""
    held = f'grep -q Event "$BINDING_CONTEXT_PATH" || exit 0\n{HOLD}'
    program = await operator({"h.sh": script, "hold.sh": watching(cms.namespace, held, kind="Secret")})
    cms.cluster.create(f"/api/v1/namespaces/{cms.namespace}/secrets", {"metadata": {"name": "hold"}})
    await program.hears("hold.sh", 1)
    for number in range(4):
        cms.create(f"n{number}")
    await until(lambda: sum("h.sh" in task for task in program.queue_list()["main"]) == 4, "all events")
    program.tell("go")
    await program.hears("h.sh", 4)
    return program


def told(program: Operator) -> list[list[str]]:
    """Names of the objects in each run after the Synchronization."""
    return [[context["object"]["metadata"]["name"] for context in run] for run in program.runs("h.sh")[1:]]


async def test_waiting_events_are_combined_into_one_run_in_order(operator: Start, cms: ConfigMaps) -> None:
    """The default."""
    program = await four_at_once(operator, cms, watching(cms.namespace))
    assert told(program) == [["n0", "n1", "n2", "n3"]]


async def test_without_combine_each_event_is_a_run(operator: Start, cms: ConfigMaps) -> None:
    """With `combine: false`."""
    program = await four_at_once(operator, cms, watching(cms.namespace, settings={"combine": False}))
    assert told(program) == [["n0"], ["n1"], ["n2"], ["n3"]]


async def test_a_merged_run_that_fails_is_repeated_whole(operator: Start, cms: ConfigMaps) -> None:
    """No part of it is dropped."""
    program = await four_at_once(operator, cms, watching(cms.namespace, EVENTS_FAIL_ONCE))
    await program.has_run("h.sh", 3)
    assert told(program) == [["n0", "n1", "n2", "n3"]] * 2


async def test_queues_run_in_parallel(operator: Start, cms: ConfigMaps) -> None:
    """One hook, two queues: each run waits for the other to have begun."""
    meet = 'touch "$TOLD/in-$(grep -o queue-. "$BINDING_CONTEXT_PATH")"\n' + (
        'until [ -e "$TOLD/in-queue-a" ] && [ -e "$TOLD/in-queue-b" ]; do sleep 0.02; done\n'
    )
    schedules = [{"name": f"queue-{x}", "queue": x, "crontab": "* * * * * *"} for x in "ab"]
    program = await operator({"h.sh": hook({"schedule": schedules}, meet)})
    await program.has_run("h.sh", 4)


async def test_a_rate_limit_delays_its_own_hook_only(operator: Start, cms: ConfigMaps) -> None:
    settings = {"executionMinInterval": "1h", "executionBurst": 1}
    program = await operator({"a.sh": watching(cms.namespace, settings=settings), "b.sh": watching(cms.namespace)})
    for number in range(3):
        cms.create(f"n{number}")
    await program.hears("b.sh", 3)
    assert program.events("a.sh") == []


async def test_events_delayed_by_a_rate_limit_run_when_it_allows(operator: Start, cms: ConfigMaps) -> None:
    settings = {"executionMinInterval": "2s", "executionBurst": 1}
    began = asyncio.get_running_loop().time()
    program = await operator({"h.sh": watching(cms.namespace, settings=settings)})
    for number in range(3):
        cms.create(f"n{number}")
    assert await program.hears("h.sh", 3) == [("Added", f"n{number}") for number in range(3)]
    assert asyncio.get_running_loop().time() - began >= 2 * (len(program.runs("h.sh")) - 1)
