"""Retries, merging, parallel queues and synchronizations as hooks see them; each rule by itself: tests/engine.

Level: control plane."""

import re

from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.scripts import FAIL_ONCE, HOLD, hook, watching
from tests.flows.waiting import stays, until

EVENTS_FAIL_ONCE = f'grep -q Event "$BINDING_CONTEXT_PATH" || exit 0\n{FAIL_ONCE}'
EVENTS_FAIL_AT_FIRST = (
    'grep -q Event "$BINDING_CONTEXT_PATH" || exit 0\n[ -e "$TOLD/go" ] || { echo "not yet" >&2; exit 1; }\n'
)
"""Until the test tells `go`."""


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


async def test_a_merged_run_that_fails_is_repeated_whole(operator: Start, cms: ConfigMaps) -> None:
    """Of four objects that were created while another hook held the queue up. No part of it is dropped."""
    held = f'grep -q Event "$BINDING_CONTEXT_PATH" || exit 0\n{HOLD}'
    hold = watching(cms.namespace, held, kind="Secret")
    program = await operator({"h.sh": watching(cms.namespace, EVENTS_FAIL_ONCE), "hold.sh": hold})
    cms.cluster.create(f"/api/v1/namespaces/{cms.namespace}/secrets", {"metadata": {"name": "hold"}})
    await program.hears("hold.sh", 1)
    for number in range(4):
        cms.create(f"n{number}")
    await until(lambda: sum("h.sh" in task for task in program.queue_list()["main"]) == 4, "all events")
    program.tell("go")
    _, *runs = await program.has_run("h.sh", 3)
    names = [[context["object"]["metadata"]["name"] for context in run] for run in runs]
    assert names == [["n0", "n1", "n2", "n3"]] * 2


async def test_queues_run_in_parallel(operator: Start, cms: ConfigMaps) -> None:
    """One hook, two queues: each run waits for the other to have begun."""
    meet = 'touch "$TOLD/in-$(grep -o queue-. "$BINDING_CONTEXT_PATH")"\n' + (
        'until [ -e "$TOLD/in-queue-a" ] && [ -e "$TOLD/in-queue-b" ]; do sleep 0.02; done\n'
    )
    schedules = [{"name": f"queue-{x}", "queue": x, "crontab": "* * * * * *"} for x in "ab"]
    program = await operator({"h.sh": hook({"schedule": schedules}, meet)})
    await program.has_run("h.sh", 4)


async def test_events_wait_until_the_synchronization_has_succeeded(operator: Start, cms: ConfigMaps) -> None:
    """Changes during its run are reported after it, also if it fails the first time, and no change twice."""
    program = await operator({"h.sh": watching(cms.namespace, HOLD + FAIL_ONCE)}, ready=False)
    await program.has_run("h.sh")
    cms.create("meanwhile")
    await until(lambda: program.metric("kube_snapshot_objects", hook="h.sh") == 1, "the object in the snapshot")
    assert len(program.runs("h.sh")) == 1
    program.tell("go")
    again = (await program.has_run("h.sh", 2))[1]
    assert [found["object"]["metadata"]["name"] for found in again[0]["objects"]] == ["meanwhile"]
    await program.ready()
    cms.create("after")
    assert await program.hears("h.sh", 1) == [("Added", "after")]
