"""SIGTERM and Ctrl-C: an idle program ends at once, a running hook may finish and its answer counts, and nothing stays
behind (docs/operations.md).

Level: control plane."""

from signal import SIGINT, SIGTERM

import pytest

from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.operator import Operator
from tests.flows.scripts import FAIL_ALWAYS, HOLD, hook, patching, watching
from tests.flows.waiting import until

STUBBORN = 'trap "" TERM\nsleep 300 &\nuntil [ -e "$TOLD/never" ]; do sleep 0.05; done\n'
"""Neither listens to SIGTERM nor ends, and has a child."""


def waited_for_hooks(program: Operator) -> bool:
    """Did the program wait for running hooks when it stopped?"""
    return any("for running hooks" in record["msg"] for record in program.logs())


@pytest.mark.parametrize("number", [SIGINT, SIGTERM])
async def test_an_idle_program_stops_without_waiting_for_anything(
    operator: Start, cms: ConfigMaps, number: int
) -> None:
    program = await operator({"h.sh": watching(cms.namespace), "t.sh": hook({"schedule": [{"crontab": "0 0 1 1 *"}]})})
    assert await program.stop(number) == 0
    assert not waited_for_hooks(program)
    assert not (program.directory / "debug.socket").exists()


async def test_a_stop_does_not_wait_for_the_next_attempt_of_a_failed_task(operator: Start) -> None:
    """On a slow machine an attempt may be under way when the signal arrives; none begins afterwards."""
    program = await operator({"h.sh": hook({"onStartup": 1}, FAIL_ALWAYS)}, "--log-level=debug", ready=False)
    await until(lambda: program.metric("hook_run_errors_total", hook="h.sh"), "a failure")
    assert await program.stop(SIGTERM) == 0
    said = [record["msg"] for record in program.logs()]
    stopping = next(number for number, message in enumerate(said) if message.startswith("stopping"))
    assert "Execute hook" in said[:stopping]
    assert "Execute hook" not in said[stopping:]


async def test_a_running_hook_finishes_and_its_answer_is_applied(operator: Start, cms: ConfigMaps) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late", "namespace": cms.namespace}}
    answer = patching([{"operation": "Create", "object": body}])
    program = await operator(
        {"h.sh": hook({"onStartup": 1}, HOLD + answer), "z.sh": hook({"onStartup": 2})}, ready=False
    )
    await program.has_run("h.sh")
    program.send(SIGTERM)
    await program.wait_log("waiting up to 25s for running hooks")
    assert "state: stopping\nready: false\nreason: waits for h.sh\n" in program.command("raw", "/status.yaml")
    program.tell("go")
    assert await program.ended() == 0
    assert cms.get("late")
    assert program.runs("z.sh") == []


async def test_a_hook_that_outlasts_the_grace_is_stopped_with_its_children(operator: Start) -> None:
    """SIGTERM to its group, SIGKILL after 5 s; the exit code says so."""
    program = await operator({"h.sh": hook({"onStartup": 1}, STUBBORN)}, "--shutdown-grace=200ms", ready=False)
    await program.has_run("h.sh")
    assert await program.stop() == 1
    await program.alone()


async def test_a_second_signal_skips_the_grace(operator: Start) -> None:
    program = await operator({"h.sh": hook({"onStartup": 1}, STUBBORN)}, "--shutdown-grace=1h", ready=False)
    await program.has_run("h.sh")
    program.send(SIGTERM)
    await program.wait_log("waiting up to")
    assert await program.stop(SIGINT) == 1
    await program.alone()


async def test_a_hook_that_exceeds_its_timeout_is_stopped_and_retried(operator: Start) -> None:
    """`settings.timeout` is a failure; the whole group is gone. On a busy machine, a later run may be late as well."""
    slow = f'[ -e "$TOLD/failed-$name" ] && exit 0\ntouch "$TOLD/failed-$name"\n{STUBBORN}'.replace(
        'trap "" TERM\n', ""
    )
    program = await operator({"h.sh": hook({"onStartup": 1, "settings": {"timeout": "500ms"}}, slow)}, ready=False)
    record = await program.wait_log("Will retry")
    assert (record["hook"], record["failed_count"]) == ("h.sh", 1)
    assert "timed out" in record["error"] or "timeout" in record["error"]
    await until(lambda: not program.left_behind(), "the end of the hook's processes")
    await program.ready()
    assert program.metric("hook_run_success_total", hook="h.sh") == 1


async def test_a_signal_stops_the_program_while_hooks_are_being_loaded(operator: Start) -> None:
    slow = '#!/bin/bash\ntouch "$TOLD/asked"\nsleep 60\n'
    program = await operator({"h.sh": slow}, ready=False)
    await until(lambda: (program.told / "asked").exists(), "the --config call")
    assert await program.stop() == 0
    await program.alone()


async def test_a_failed_start_gives_the_reason_and_exits_with_1(operator: Start) -> None:
    program = await operator({"h.sh": hook({"schedule": [{"crontab": "61 * * * *"}]})}, ready=False)
    assert await program.ended() == 1
    assert "h.sh" in (program.directory / "errors").read_text()
    assert "crontab" in (program.directory / "errors").read_text()
