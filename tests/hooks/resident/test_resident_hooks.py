"""Resident hooks that keep the rules: what they see, how many run at once, when they are replaced and end.

Level: pure."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from hookrunner import log
from hookrunner.hooks.resident.resident_pool import ResidentPool
from hookrunner.model.bindings import Resident
from hookrunner.model.hook_runs import RunOptions, RunProgress, RunResult
from tests.fakes.cluster import until
from tests.hooks.resident.conftest import ANSWERS, Residents

PIDS = """
hello(concurrency=%d)
for run in runs():
    send(answer={"id": run["id"], "metrics": [{"name": "pid", "set": os.getpid()}]%s})
"""


def pid(result: RunResult) -> float:
    return result.answer.metrics[0].value


async def test_a_process_has_two_pipes_and_nothing_else_and_finds_them_by_name(residents: Residents) -> None:
    hook = residents.hook("""
names = [os.environ[name] for name in ("HOOKRUNNER_REQUESTS", "HOOKRUNNER_ANSWERS")]
hello()
for run in runs():
    fds = sorted(int(name) for name in os.listdir("/dev/fd"))[:5]
    seen = [names, fds, sys.stdin.read(), os.getcwd(), os.getpgrp() == os.getpid()]
    send(answer={"id": run["id"], "outcome": "failed", "message": json.dumps(seen)})
""")
    with pytest.raises(Exception, match="FAILED") as failed:
        await residents.run(hook)
    seen: Any = json.loads(str(failed.value).removeprefix("h.py FAILED: "))
    assert seen == [["/dev/fd/3", "/dev/fd/4"], [0, 1, 2, 3, 4], "", str(residents.directory), True]


async def test_runs_share_a_process(residents: Residents) -> None:
    hook = residents.hook(PIDS % (1, ""))
    assert len({pid(await residents.run(hook)) for _ in range(5)}) == 1
    state = residents.state(hook)
    assert (state.processes, state.places, state.in_use, state.memory > 0) == (1, 1, 0, True)


@pytest.mark.parametrize(("workers", "window"), [(1, 2), (2, 1)])
async def test_so_many_runs_are_side_by_side_and_no_more(residents: Residents, workers: int, window: int) -> None:
    """The runs of a hook end only when the third one would begin."""
    residents.resident = Resident(workers=workers)
    hook = residents.hook(f"""
hello(concurrency={window})
def work(run):
    once("began-" + run["contexts"][0]["binding"])
    while not os.path.exists(os.path.join(os.path.dirname(__file__), "go")): signal.sigtimedwait([], 0.01)
    send(answer={{"id": run["id"]}})
for run in runs():
    threading.Thread(target=work, args=[run]).start()
""")
    tasks = [asyncio.ensure_future(residents.run(hook, context=name)) for name in "abc"]
    await until(lambda: len([*residents.directory.glob("began-*")]) == 2)
    assert residents.state(hook).in_use == 2
    (residents.directory / "go").touch()
    await asyncio.gather(*tasks)
    assert len([*residents.directory.glob("began-*")]) == 3


@pytest.mark.slow
async def test_runs_and_answers_that_fill_both_pipes_pass_each_other(residents: Residents) -> None:
    """The hook answers the first run, which takes more than a pipe holds, before it reads the second one."""
    hook = residents.hook("""
hello(concurrency=2)
for run in runs():
    send(answer={"id": run["id"], "outcome": "failed", "message": run["contexts"][0]["binding"]})
""")
    texts = [name * (1 << 20) for name in "abcd"]
    ends = await asyncio.gather(*(residents.run(hook, context=text) for text in texts), return_exceptions=True)
    assert [str(end)[:20] for end in ends] == [f"h.py FAILED: {text[:7]}" for text in texts]
    assert residents.state(hook).restarts == {}


async def test_log_messages_and_progress_are_of_their_run(
    residents: Residents, capfd: pytest.CaptureFixture[str]
) -> None:
    hook = residents.hook("""
hello(capabilities=["log", "progress"])
for run in runs():
    send(log={"id": run["id"], "level": "warn", "msg": "hot", "degrees": 40})
    send(progress={"id": run["id"], "message": "3 of 10"})
    send(unknown={"id": 1}); print("end", end="", flush=True)
    send(answer={"id": run["id"]})
""")
    progress = RunProgress()
    await residents.run(hook, RunOptions(progress=progress))
    assert progress.text == "3 of 10"
    lines = capfd.readouterr().err.splitlines()
    assert [line for line in lines if "msg=hot" in line and "hook_degrees=40" in line and "level=warn" in line]
    assert [line for line in lines if "msg=end" in line]


async def test_a_line_that_a_hook_sends_is_logged_as_if_its_run_had_printed_it(
    residents: Residents, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also one that begins an object without an end."""
    hook = residents.hook("""
hello(capabilities=["log"], concurrency=2)
for run in runs():
    name = run["contexts"][0]["binding"]
    send(log={"id": run["id"], "line": json.dumps({"level": "error", "msg": "hot " + name})})
    send(log={"id": run["id"], "line": "{", "output": "stderr"})
    send(answer={"id": run["id"]})
""")
    with log.bound(task="one"):
        first = asyncio.ensure_future(residents.run(hook, context="a"))
    with log.bound(task="two"):
        await residents.run(hook, context="b")
    await first
    lines = sorted(line.partition("msg=")[2] for line in capfd.readouterr().err.splitlines())
    assert [line for line in lines if "task=" in line] == [
        '"hot a" output=stdout proxyJsonLog=true task=one',
        '"hot b" output=stdout proxyJsonLog=true task=two',
        "{ output=stderr task=one",
        "{ output=stderr task=two",
    ]


async def test_a_process_is_replaced_after_so_many_runs_give_or_take_a_tenth(residents: Residents) -> None:
    residents.resident = Resident(max_runs=10)
    hook = residents.hook(PIDS % (1, ""))
    pids = [pid(await residents.run(hook)) for _ in range(24)]
    numbers = [pids.count(each) for each in dict.fromkeys(pids)]
    assert [9 <= number <= 11 for number in numbers[:-1]] == [True, True]
    assert residents.state(hook).restarts == {"runs": 2}


async def test_with_work_waiting_the_next_process_is_ready_before_the_old_one_ends(residents: Residents) -> None:
    hook = residents.hook("""
once("ready-" + str(not once("first")))
hello()
for run in runs():
    send(answer={"id": run["id"], "recycle": True})
once("ended-" + ("True" if os.path.exists(os.path.join(os.path.dirname(__file__), "ready-True")) else "False"))
""")
    await asyncio.gather(*(residents.run(hook) for _ in range(2)))
    await until(lambda: len([*residents.directory.glob("ended-*")]) > 0)
    assert [path.name for path in residents.directory.glob("ended-*")] == ["ended-True"]


async def test_a_hook_may_ask_for_a_new_process(residents: Residents) -> None:
    hook = residents.hook(PIDS % (1, ', "recycle": True'))
    assert len({pid(await residents.run(hook)) for _ in range(3)}) == 3


async def test_a_replaced_file_serves_the_next_run(residents: Residents) -> None:
    hook = residents.hook(PIDS % (1, ""))
    before = await residents.run(hook)
    again = residents.hook(PIDS % (1, ' + [{"name": "new", "set": 1}]'))
    after = await residents.run(again)
    assert (len(before.answer.metrics), len(after.answer.metrics)) == (1, 2)


async def test_an_idle_process_ends_and_the_next_run_starts_another(residents: Residents) -> None:
    residents.resident = Resident(idle=0.1)
    hook = residents.hook(PIDS % (1, ""))
    first = pid(await residents.run(hook))
    await until(lambda: residents.state(hook).processes == 0 and len(residents.children) == 0)
    assert pid(await residents.run(hook)) != first
    assert residents.state(hook).restarts == {}


async def test_a_hook_that_is_removed_ends_when_it_has_answered(residents: Residents) -> None:
    hook = residents.hook(ANSWERS)
    await residents.run(hook)
    residents.processes.retire(hook)
    await until(lambda: len(residents.children) == 0)
    await residents.run(hook)


async def test_a_long_run_comes_as_a_file_that_is_removed(
    residents: Residents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookrunner.hooks.resident.line_carrier.FILE_FROM", 10)
    hook = residents.hook("""
hello(capabilities=["file"])
for run in runs():
    whole = json.loads(open(run["file"]).read())["run"]
    binding = whole["contexts"][0]["binding"]
    send(answer={"id": run["id"], "metrics": [{"name": binding, "set": 1}]})
""")
    result = await residents.run(hook, context="tick")
    assert result.answer.metrics[0].name == "tick"
    assert [*(residents.directory / "tmp").iterdir()] == []


async def test_an_answer_to_a_shutdown_is_carried_out(residents: Residents) -> None:
    hook = residents.hook("""
hello(capabilities=["cancel"])
while (message := receive()) is not None:
    once("began")
    if "cancel" in message:
        send(answer={"id": message["cancel"]["id"], "metrics": [{"name": message["cancel"]["reason"], "set": 1}]})
""")
    running = asyncio.ensure_future(residents.run(hook))
    await until(lambda: (residents.directory / "began").exists())
    await residents.processes.close()
    assert (await running).answer.metrics[0].name == "shutdown"


async def test_a_run_that_is_cancelled_has_ended_when_that_returns(residents: Residents) -> None:
    hook = residents.hook('hello()\nreceive()\nonce("began")\nwhile True: signal.pause()\n')
    running = asyncio.ensure_future(residents.run(hook))
    await until(lambda: (residents.directory / "began").exists())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(residents.children) == 0


async def test_what_a_hook_leaves_behind_when_it_dies_is_ended(residents: Residents) -> None:
    hook = residents.hook("""
hello()
for run in runs():
    if (child := os.fork()) == 0:
        signal.pause()
    once("child-%d" % child)
    os._exit(1)
""")
    with pytest.raises(Exception, match="exit status 1"):
        await residents.run(hook)
    (child,) = residents.directory.glob("child-*")
    await until(lambda: not Path(f"/proc/{child.name.removeprefix('child-')}").exists())


def test_a_pool_without_processes_has_nothing_to_show(residents: Residents) -> None:
    hook = residents.hook("")
    pool = ResidentPool(hook, Resident(), start=NotImplemented, pauses=NotImplemented)
    state = pool.state()
    assert (state.processes, state.age, state.memory, state.trouble, state.in_crash_loop) == (0, 0.0, 0, "", False)
