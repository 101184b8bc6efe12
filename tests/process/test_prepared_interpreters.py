"""Prepared interpreters: which scripts are forked, what replaces an interpreter, and what happens when one is killed.

Level: pure.
"""

import asyncio
import os
import signal
import sys
import venv
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hookrunner.errors import HookFailed
from hookrunner.process import prepared_interpreter
from hookrunner.process.child import Command, Exit, ForkTerms, Patience
from hookrunner.process.children import Children
from hookrunner.process.leader import processes
from hookrunner.process.prepared_interpreters import PreparedInterpreters
from tests.process.test_children import Printed

pytestmark = pytest.mark.slow  # each starts a Python


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    running = Children(Patience(kill=0.3), PreparedInterpreters(idle=60.0))
    yield running
    await running.stop(0.0)


def write(path: Path, text: str, first: str = sys.executable, *, age: float = 1e9) -> Path:
    path.write_text(f"#!{first}\n{text}")
    path.chmod(0o755)
    os.utime(path, (age, age))
    return path


async def run(children: Children, path: Path, packages: tuple[str, ...] = (), **more: str) -> Exit:
    environment = {"PATH": os.environ["PATH"], **more}
    command = Command((str(path),), path.parent, environment, keep_stdout=1000, fork=ForkTerms(frozenset(), packages))
    return await children.run(command, Printed())


def forked(children: Children, path: Path) -> bool:
    return children.interpreters.reports[str(path)].startswith("a fork")


async def test_a_python_script_is_forked_and_a_second_run_has_the_same_interpreter(
    children: Children, tmp_path: Path
) -> None:
    hook = write(tmp_path / "hook", "import json\nprint(json.dumps([1]))", "/usr/bin/env python3")
    ends = [await run(children, hook) for _ in range(2)]
    assert [(end.stdout, end.code) for end in ends] == [(b"[1]\n", 0)] * 2
    assert children.interpreters.reports[str(hook)] == "a fork of a prepared Python (prepared: json)"
    assert len(children.interpreters.pids) == 1
    [(_, size)] = children.interpreters.memory()
    assert size > 1_000_000


async def test_the_child_is_ours_and_is_measured(children: Children, tmp_path: Path) -> None:
    hook = write(tmp_path / "hook", "import os\nprint(os.getppid())\nx = bytearray(50_000_000)\nsum(range(10**6))")
    end = await run(children, hook)
    assert int(end.stdout) == os.getpid()
    assert end.max_rss_bytes > 50_000_000
    assert 0 < end.user_seconds + end.system_seconds < 5


async def test_the_seed_of_hashes_is_one_for_each_interpreter(children: Children, tmp_path: Path) -> None:
    """A child cannot change it. That a set PYTHONHASHSEED holds is one of the traps."""
    hook = write(tmp_path / "hook", "print(hash('text'))")
    assert len({(await run(children, hook)).stdout for _ in range(3)}) == 1


async def test_a_venv_of_a_module_has_an_interpreter_of_its_own(children: Children, tmp_path: Path) -> None:
    """Its first line names another Python; the file is an argument of the venv's, as for modules."""
    venv.create(tmp_path / "venv", symlinks=True)
    hook = write(tmp_path / "hook", "import sys\nprint(sys.prefix)", "/usr/bin/env python3")
    python = str(tmp_path / "venv/bin/python3")
    command = Command((python, str(hook)), tmp_path, {"PATH": os.defpath}, keep_stdout=1000, fork=ForkTerms())
    for _ in range(2):
        assert (await children.run(command, Printed())).stdout.decode() == f"{tmp_path / 'venv'}\n"
    assert forked(children, hook)
    assert b"venv/bin/python3" in Path(f"/proc/{min(children.interpreters.pids)}/cmdline").read_bytes()


async def test_a_prepared_interpreter_holds_nothing_of_a_run(children: Children, tmp_path: Path) -> None:
    """What a run reads is in files, whose paths alone are given to it."""
    secret = f"it is {os.urandom(8).hex()}"
    (tmp_path / "values").write_text(secret)
    hook = write(tmp_path / "hook", "import os\nprint(open(os.environ['VALUES_PATH']).read())")
    environment = {"PATH": os.environ["PATH"], "VALUES_PATH": str(tmp_path / "values")}
    terms = ForkTerms(frozenset({"VALUES_PATH"}))
    end = await children.run(Command((str(hook),), tmp_path, environment, keep_stdout=1000, fork=terms), Printed())
    assert end.stdout.decode() == f"{secret}\n"
    [pid] = children.interpreters.pids
    assert (holds(pid, str(hook)), holds(pid, secret)) == (True, False)


def holds(pid: int, text: str) -> bool:
    """Is this text anywhere in the memory that the process may write?"""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for region in (line.split() for line in maps if " rw" in line):
            begin, end = (int(address, 16) for address in region[0].split("-"))
            memory.seek(begin)
            if text.encode() in memory.read(end - begin):
                return True
    return False


async def test_a_changed_script_is_read_again(children: Children, tmp_path: Path) -> None:
    hook = write(tmp_path / "hook", "print(1)")
    assert (await run(children, hook)).stdout == b"1\n"
    write(hook, "print(2)", age=1e9 + 1)
    assert (await run(children, hook)).stdout == b"2\n"
    assert forked(children, hook)


async def test_a_script_that_was_just_written_waits_for_nothing(children: Children, tmp_path: Path) -> None:
    hook = write(tmp_path / "hook", "print(1)")
    os.utime(hook)
    assert (await run(children, hook)).stdout == b"1\n"
    assert "just been changed" in children.interpreters.reports[str(hook)]


async def test_a_changed_package_replaces_the_interpreter(children: Children, tmp_path: Path) -> None:
    package, hook = tmp_path / "lib/mine.py", write(tmp_path / "hook", "import mine\nprint(mine.x)")
    package.parent.mkdir()
    seen = []
    for number in (1, 2):
        package.write_text(f"x = {number}")
        os.utime(package, (1e9 + number, 1e9 + number))
        seen += [(await run(children, hook, ("mine",), PYTHONPATH=str(package.parent))).stdout for _ in range(2)]
        assert "(prepared: mine)" in children.interpreters.reports[str(hook)]
    assert seen == [b"1\n", b"1\n", b"2\n", b"2\n"]


@pytest.mark.parametrize(
    ("effect", "reason"),
    [
        ("import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()", "threads"),
        ("import os\nos.environ['X'] = 'y'", "the environment"),
        ("import signal\nsignal.signal(15, lambda *_: None)", "signals"),
        ("opened = open('/dev/null')", "descriptors"),
    ],
)
async def test_a_package_that_changes_the_process_is_not_prepared(
    children: Children, tmp_path: Path, effect: str, reason: str
) -> None:
    hook = write(tmp_path / "hook", "import json, mine\nprint(mine.x)")
    (tmp_path / "lib").mkdir()
    write(tmp_path / "lib/mine.py", f"{effect}\nx = 1")
    ends = [await run(children, hook, ("mine",), PYTHONPATH=str(tmp_path / "lib")) for _ in range(2)]
    assert [end.stdout for end in ends] == [b"1\n"] * 2
    report = f"prepared: json; mine is not prepared; importing mine changes {reason}"
    assert report in children.interpreters.reports[str(hook)]


@pytest.mark.parametrize("death", ["import os\nos._exit(3)", "import os\nos.kill(os.getpid(), 9)"])
async def test_a_package_that_kills_the_interpreter_is_left_to_the_runs(
    children: Children, tmp_path: Path, death: str
) -> None:
    hook = write(tmp_path / "hook", "import json\nimport mine")
    (tmp_path / "lib").mkdir()
    write(tmp_path / "lib/mine.py", death)
    other = write(tmp_path / "other", "import json\nprint('goes on')")
    end = await run(children, hook, ("mine",), PYTHONPATH=str(tmp_path / "lib"))
    assert not end.ok
    assert (await run(children, other, PYTHONPATH=str(tmp_path / "lib"))).stdout == b"goes on\n"
    assert forked(children, other)


async def test_a_killed_interpreter_loses_no_run(children: Children, tmp_path: Path) -> None:
    hook = write(tmp_path / "hook", "print('ran')")
    ends = []
    for _ in range(5):
        running = asyncio.create_task(run(children, hook))
        for pid in children.interpreters.pids:
            os.kill(pid, signal.SIGKILL)
        ends.append(await running)
    assert [(end.stdout, end.code) for end in ends] == [(b"ran\n", 0)] * 5


async def test_a_run_outlives_its_interpreter(children: Children, tmp_path: Path) -> None:
    hook = write(tmp_path / "hook", "import sys\nprint('begun', flush=True)\nopen('go').read()\nsys.exit(3)")
    os.mkfifo(tmp_path / "go")
    printed = Printed()
    command = Command((str(hook),), tmp_path, {"PATH": os.environ["PATH"]}, fork=ForkTerms())
    running = asyncio.create_task(children.run(command, printed))
    await printed.wait_for("begun")
    for pid in children.interpreters.pids:
        os.kill(pid, signal.SIGKILL)
    (tmp_path / "go").write_text("")
    assert (await running).code == 3


async def test_a_child_that_is_killed_before_it_has_written_its_id_is_reaped(
    children: Children, tmp_path: Path
) -> None:
    """Its interpreter gets a program that kills each child in its first statement, but for the last one."""
    hook, deaths = write(tmp_path / "hook", "print('ran')"), tmp_path / "deaths"
    (tmp_path / "sitecustomize.py").write_text(
        f"import os\nos.setpgid = lambda *_: os.path.exists({str(deaths)!r}) or"
        f" (open({str(deaths)!r}, 'w'), os.kill(os.getpid(), 9))"
    )
    end = await run(children, hook, PYTHONPATH=str(tmp_path))
    assert (end.stdout, deaths.exists(), forked(children, hook)) == (b"ran\n", True, True)
    assert [row for row in processes() if row.parent == os.getpid() and row.state == "Z"] == []


async def test_no_interpreter_is_started_after_the_end(tmp_path: Path) -> None:
    hook, children, others = write(tmp_path / "hook", "print(1)"), Children(Patience()), own_children()
    await run(children, hook)
    before = own_children()
    for interpreter in before - others:
        os.kill(interpreter, signal.SIGSTOP)  # it would fork before the end
    running = asyncio.create_task(run(children, hook))
    while not children.interpreters.is_forking:  # noqa: ASYNC110
        await asyncio.sleep(0)
    await children.stop(0.0)
    with pytest.raises(HookFailed, match="hookrunner is stopping"):
        await running
    assert own_children() < before


def own_children() -> set[int]:
    return {row.pid for row in processes() if row.parent == os.getpid()}


async def test_timeout_ends_the_group_of_a_fork(children: Children, tmp_path: Path) -> None:
    hook = write(tmp_path / "hook", "import subprocess\nsubprocess.run(['sleep', '60'])")
    command = Command((str(hook),), tmp_path, {"PATH": os.environ["PATH"]}, timeout=0.5, fork=ForkTerms())
    end = await children.run(command, Printed())
    assert end.timed_out
    assert forked(children, hook)


async def test_a_cancelled_start_leaves_no_process_and_no_descriptor(children: Children, tmp_path: Path) -> None:
    await run(children, write(tmp_path / "other", "print(1)"))
    before = {*os.listdir("/proc/self/fd")}
    others = {row.pid for row in processes() if row.parent == os.getpid()}
    running = asyncio.create_task(run(children, write(tmp_path / "hook", "import time\ntime.sleep(60)")))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    ours = {os.getpid()} | children.interpreters.pids | others
    while {row.pid for row in processes() if row.parent == os.getpid()} - ours or children.interpreters.is_forking:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert {*os.listdir("/proc/self/fd")} <= before


async def test_an_idle_interpreter_ends(tmp_path: Path) -> None:
    children = Children(Patience(), PreparedInterpreters(idle=0.05))
    hook = write(tmp_path / "hook", "print(1)")
    running = asyncio.create_task(run(children, hook))
    while not (pids := children.interpreters.pids):  # noqa: ASYNC110  # on a busy machine it ends before its hook
        await asyncio.sleep(0)
    await running
    while list(children.interpreters.memory()):  # noqa: ASYNC110  # nothing tells of it
        await asyncio.sleep(0.01)
    assert (await run(children, hook)).stdout == b"1\n"
    assert children.interpreters.pids != pids
    await children.stop(0.0)


async def test_an_interpreter_that_cannot_be_prepared_is_tried_a_few_times(
    children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = write(tmp_path / "server.py", "raise ImportError('no ctypes')")
    monkeypatch.setattr(prepared_interpreter, "_PROGRAM", program)
    hook = write(tmp_path / "hook", "print(1)")
    reports = set()
    for _ in range(8):
        assert (await run(children, hook)).stdout == b"1\n"
        reports.add(children.interpreters.reports[str(hook)].removeprefix("a process of its own: "))
    cannot = "its interpreter cannot be prepared: ImportError: no ctypes"
    assert reports == {cannot, f"a Python was prepared 6 times within a minute; the last time {cannot}"}
