"""Resident hooks that break the rules: each is named with what it did, its run fails and can be repeated, others go on.

Level: pure."""

import asyncio
import os
import re
import signal
from contextlib import nullcontext, suppress

import pytest

from hookrunner.errors import HookFailed
from hookrunner.hooks.resident import line_carrier, messages, resident_process
from hookrunner.hooks.resident.resident_pool import RESTARTS
from hookrunner.model.bindings import Resident
from hookrunner.model.hook_runs import RunOptions
from hookrunner.waits import Pauses
from tests.hooks.resident.conftest import ANSWERS, Residents

GOOD_AFTERWARDS = """
if not once("bad"):
    hello()
    for run in runs():
        send(answer={"id": run["id"]})
    sys.exit()
"""
BAD_IN_A_RUN = {
    "answers for another run": ('send(answer={"id": "r99"})', "an answer to a request that is not open"),
    "writes no JSON": ('answers.write(b"hello\\n")', "a line on descriptor 4 that is not JSON"),
    "writes a list": ('answers.write(b"[1]\\n")', "no JSON object with a key"),
    "answers without an object": ("send(answer=1)", "its line 'answer' on descriptor 4 has no JSON object"),
    "says hello twice": ('send(hello={"version": 1})', "it said hello twice"),
    "half a line, and ends": ('answers.write(b"{\\"answer\\": {"); sys.exit(0)', "exit status 0"),
    "closes its answers": ("os.close(4); signal.pause()", "it closed its answers"),
    "dies": ('print("oh", file=sys.stderr); sys.exit(3)', "^h.py FAILED: oh$"),
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL"),
    "forks and dies": ("os.fork() and os._exit(4); signal.pause()", "exit status 4"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("script", "words"), BAD_IN_A_RUN.values(), ids=BAD_IN_A_RUN)
async def test_what_a_hook_does_wrong_in_a_run_fails_it_and_the_next_attempt_is_good(
    residents: Residents, script: str, words: str
) -> None:
    bad = residents.hook(GOOD_AFTERWARDS + f"hello()\nfor run in runs():\n    {script}\n")
    other = residents.hook(ANSWERS, "other.py")
    with pytest.raises(HookFailed, match=words) as failed:
        await residents.run(bad)
    assert "h.py" in str(failed.value)
    await residents.run(other)
    await residents.run(bad)
    assert residents.state(bad).restarts == {"failed": 1}


async def test_a_second_answer_ends_the_process_and_the_next_run_gets_another(residents: Residents) -> None:
    script = 'hello()\nfor run in runs():\n    for _ in range(2):\n        send(answer={"id": run["id"]})\n'
    hook = residents.hook(GOOD_AFTERWARDS + script)
    await residents.run(hook)
    for _ in range(2):  # the second answer may come a moment after the first
        try:
            await residents.run(hook)
        except HookFailed as error:
            assert "not open" in str(error)  # noqa: PT017  # it may also come too late for this
    await residents.run(hook)
    assert residents.state(hook).restarts == {"failed": 1}


async def test_an_answer_without_an_end_is_bounded(residents: Residents) -> None:
    """1 GB, with a bound of 1 MiB."""
    residents.resident = Resident(max_line=1 << 20)
    hook = residents.hook(
        GOOD_AFTERWARDS + "hello()\nfor run in runs():\n    while True:\n        answers.write(b'x' * 65536)\n"
    )
    with pytest.raises(HookFailed, match="it printed a line of more than 1 MiB"):
        await residents.run(hook)
    await residents.run(hook)


async def test_a_run_that_is_too_long_for_a_line_is_refused_without_the_capability_file(
    residents: Residents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookrunner.hooks.resident.line_carrier.FILE_FROM", 10)
    residents.resident = Resident(max_line=10)
    hook = residents.hook(ANSWERS)
    with pytest.raises(HookFailed, match="the hook reads no files"):
        await residents.run(hook)


@pytest.mark.parametrize("first", ["", 'send(hello={"version": 1, "capabilities": ["cancel"]})\n'])
async def test_a_hook_that_never_reads_is_ended_at_its_deadline(residents: Residents, first: str) -> None:
    hook = residents.hook(GOOD_AFTERWARDS + (first or "hello()\n") + "while True: signal.pause()\n")
    with pytest.raises(HookFailed, match="timed out after"):
        await residents.run(hook, RunOptions(timeout=0.3))
    hook.path.with_name("bad").touch()  # on a busy machine it may have been ended before it came there
    await residents.run(hook)


async def test_a_hook_that_closes_its_requests_is_ended(residents: Residents) -> None:
    hook = residents.hook(GOOD_AFTERWARDS + "hello()\nrequests.close()\nwhile True: signal.pause()\n")
    with pytest.raises(HookFailed, match="it closed its requests"):
        await residents.run(hook)
    await residents.run(hook)


async def test_an_answer_after_its_cancel_is_dropped_and_the_process_stays(
    residents: Residents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident_process, "CANCEL_WITHIN", 60.0)
    hook = residents.hook("""
hello(capabilities=["cancel"])
while (message := receive()) is not None:
    if "cancel" in message:
        send(answer={"id": message["cancel"]["id"], "operations": [{"operation": "late"}]})
    elif message["run"]["contexts"][0]["binding"] != "late":
        send(answer={"id": message["run"]["id"]})
""")
    await residents.run(hook)
    with pytest.raises(HookFailed, match="timed out after"):
        await residents.run(hook, RunOptions(timeout=0.1), context="late")
    await residents.run(hook)
    assert residents.state(hook).restarts == {}


async def test_runs_beside_one_that_ignores_its_cancel_fail_with_its_process_and_are_good_when_repeated(
    residents: Residents,
) -> None:
    """The one without a limit would have been answered: it is lost with the process, and named with the reason."""
    ignores = 'send(answer={"id": receive()["run"]["id"]})\nrequests.read()\n'
    hook = residents.hook(GOOD_AFTERWARDS + "hello(capabilities=['cancel'], concurrency=2)\n" + ignores)
    await residents.run(hook)  # a busy machine may take longer than the first one's limit to start it
    runs = [residents.run(hook, RunOptions(timeout=0.3)), residents.run(hook, RunOptions(timeout=60.0))]
    ends = await asyncio.gather(*runs, return_exceptions=True)
    words = ["timed out after 0.3", "it was ended: a run took too long, and it did not answer a cancel"]
    assert [word in str(end) for word, end in zip(words, ends, strict=True)] == [True, True], ends
    await asyncio.gather(residents.run(hook), residents.run(hook))
    assert residents.state(hook).restarts == {"failed": 1}


ANSWERS_ONCE = """
hello()
run = next(runs())
send(answer={"id": run["id"], "recycle": True})
"""
NO_HELLO = {
    "version 7": ("hello(version=7)", "version 7 of hookrunner.io/resident"),
    "a wrong hello": ("hello(concurrency=0)", "its hello is not valid: concurrency"),
    "ends at once": ('print("no module", file=sys.stderr); sys.exit(1)', "exit status 1: no module"),
    "prints at once and ends": ("answers.write(b'usage: ...\\n')", "descriptor 4 that is not JSON"),
    "hangs": ("while True: signal.pause()", "it did not answer hello on descriptor 4 within 0.3 s"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("script", "words"), NO_HELLO.values(), ids=NO_HELLO)
async def test_a_hook_that_is_not_ready_fails_the_run_and_is_shown(
    residents: Residents, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    if "hangs" in words or "within" in words:
        monkeypatch.setattr(resident_process, "HELLO_WITHIN", 0.3)
    hook = residents.hook(GOOD_AFTERWARDS + script.replace("hello(version=7)", "receive(); send(hello={'version': 7})"))
    with pytest.raises(HookFailed, match=words):
        await residents.run(hook)
    assert residents.state(hook).trouble
    hook.path.with_name("bad").touch()  # on a busy machine it may have been ended before it came there
    monkeypatch.setattr(resident_process, "HELLO_WITHIN", 10.0)
    await residents.run(hook)
    assert residents.state(hook).trouble == ""


async def test_an_executable_that_ignores_the_argument_is_named_with_what_it_printed(residents: Residents) -> None:
    hook = residents.hook("")
    hook.path.write_text("#!/bin/sh\necho I am one-shot >&2\n")
    with pytest.raises(HookFailed, match=r"h\.py --resident: exit status 0: I am one-shot"):
        await residents.run(hook)


async def test_with_fallback_such_an_executable_gets_a_process_for_each_run(residents: Residents) -> None:
    residents.resident = Resident(fallback=True)
    hook = residents.hook("")
    hook.path.write_text('#!/bin/sh\n[ "$1" ] && exit 1\necho \'{"name": "m", "add": 1}\' > $METRICS_PATH\n')
    for _ in range(2):
        assert len((await residents.run(hook)).answer.metrics) == 1


async def test_a_missing_file_says_so(residents: Residents) -> None:
    hook = residents.hook(ANSWERS)
    hook.path.unlink()
    with pytest.raises(HookFailed, match=r"cannot start .*h\.py: the file is not there"):
        await residents.run(hook)


async def test_a_hook_that_leaks_is_replaced_after_the_answer(residents: Residents) -> None:
    residents.resident = Resident(max_memory=60 << 20)
    hook = residents.hook("""
hello()
kept = []
for run in runs():
    kept.append(b"x" * (30 << 20))
    send(answer={"id": run["id"], "metrics": [{"name": "pid", "set": os.getpid()}]})
""")
    pids = [(await residents.run(hook)).answer.metrics[0].value for _ in range(4)]
    assert len(set(pids)) > 1
    assert residents.state(hook).restarts["memory"] >= 1


@pytest.mark.slow
async def test_five_deaths_without_an_answer_are_a_crash_loop_and_an_answer_ends_it(residents: Residents) -> None:
    hook = residents.hook("if once('1') or once('2') or once('3') or once('4') or once('5'): sys.exit(1)\n" + ANSWERS)
    for _ in range(5):
        with pytest.raises(HookFailed):
            await residents.run(hook)
    assert residents.state(hook).in_crash_loop
    await residents.run(hook)
    assert not residents.state(hook).in_crash_loop


@pytest.mark.slow
async def test_the_pause_before_the_next_start_grows_until_a_run_is_answered(
    residents: Residents, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(line_carrier, "RESTARTS", Pauses(RESTARTS.first / 1000, RESTARTS.longest / 1000))
    hook = residents.hook("if once('1') or once('2') or (not once('3') and once('4')): sys.exit(1)\n" + ANSWERS_ONCE)
    for fails in (True, True, False, True, False):
        with pytest.raises(HookFailed) if fails else nullcontext():
            await residents.run(hook)
    assert re.findall(r"starting it again.* seconds=(\S+)", capfd.readouterr().err) == ["0.001", "0.002", "0.001"]
    assert (RESTARTS.first, RESTARTS.longest) == (1.0, 30.0)


async def test_the_hook_ends_when_hookrunner_is_killed(residents: Residents) -> None:
    """`kill -9` of this side: the end of its requests is all that a hook sees."""
    hook = residents.hook('hello()\nfor run in runs():\n    send(answer={"id": run["id"]})\nonce("ended")\n')
    await residents.run(hook)
    await residents.processes.close()
    assert (residents.directory / "ended").exists()


@pytest.mark.parametrize("moment", ["before the answer", "while idle"])
async def test_a_hook_that_is_killed_loses_nothing_that_a_retry_does_not_bring(
    residents: Residents, moment: str
) -> None:
    hook = residents.hook("""
hello()
for run in runs():
    if once("first"):
        once("pid-%d" % os.getpid())
        if os.path.exists(os.path.join(os.path.dirname(__file__), "wait")): signal.pause()
    send(answer={"id": run["id"]})
""")
    if moment == "before the answer":
        (residents.directory / "wait").touch()
    running = asyncio.ensure_future(residents.run(hook))
    while not (pids := [*residents.directory.glob("pid-*")]):
        await asyncio.wait({running}, timeout=0.01)
    if moment == "while idle":
        await running
    os.kill(int(pids[0].name.removeprefix("pid-")), signal.SIGKILL)
    if moment == "before the answer":
        with pytest.raises(HookFailed, match="killed by SIGKILL"):
            await running
    with suppress(HookFailed):  # while idle: the run may be on its way to the dying process
        await residents.run(hook)
    await residents.run(hook)


def test_a_line_that_is_long_is_found_by_its_id() -> None:
    text = b'{"answer": {"id": "r1", "operations": ["' + b"x" * (300 << 10) + b'"]}}'
    message = messages.read_line(text)
    assert (message.id, message.body) == ("r1", {"id": "r1"})
    assert messages.whole_body(message)["operations"] == ["x" * (300 << 10)]
