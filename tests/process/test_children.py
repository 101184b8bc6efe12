"""Children with real processes: exit codes, output, what is left behind, timeouts, cancellation, stop.

Reaping orphans is in test_orphans.py, failed starts in test_spawn.py.

Level: pure.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hookrunner.errors import HookFailed
from hookrunner.process.child import Command, Exit, Patience, _within
from hookrunner.process.children import Children
from hookrunner.process.leader import processes
from hookrunner.process.output import OutputStream

Script = Callable[..., Command]
PATIENCE = 30.0
"""Seconds, less than the shortest sleep of a hook here that must not be waited for."""
BRIEF = Patience(kill=0.3, linger=0.05)
STUBBORN = "trap '' TERM; while :; do sleep 60 & wait; done"


class Printed:
    """A sink that remembers, and that can be waited for."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.ends: list[str] = []
        self._changed = asyncio.Event()

    def line(self, stream: OutputStream, text: str) -> None:
        self.lines.append((stream.value, text))
        self._changed.set()

    def ended(self, stream: OutputStream) -> None:
        self.ends.append(stream.value)
        self._changed.set()

    def texts(self, stream: str = "stdout") -> list[str]:
        return [text for name, text in self.lines if name == stream]

    async def wait(self, seen: Callable[["Printed"], bool]) -> None:
        while not seen(self):
            self._changed.clear()
            async with asyncio.timeout(PATIENCE):
                await self._changed.wait()

    async def wait_for(self, text: str) -> None:
        await self.wait(lambda printed: any(line == text for _, line in printed.lines))


@pytest.fixture
def script(tmp_path: Path) -> Script:
    def write(text: str, timeout: float | None = None, keep_stdout: int = 0) -> Command:
        path = tmp_path / f"hook-{len(list(tmp_path.iterdir()))}.sh"
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
        return Command((str(path),), tmp_path, {"PATH": os.defpath}, timeout, keep_stdout)

    return write


async def run(command: Command, patience: Patience = BRIEF) -> tuple[Exit, Printed]:
    printed = Printed()
    return await Children(patience).run(command, printed), printed


@contextmanager
def standard_input(descriptor: int) -> Iterator[None]:
    """Let this process read from another file for a while."""
    before = os.dup(0)
    os.dup2(descriptor, 0)
    yield
    os.dup2(before, 0)
    os.close(before)


def alive(group: int) -> bool:
    """Is a process in this group that is more than a zombie?"""
    return any(row.group == group and row.state not in "ZX" for row in processes())


def gone(group: int) -> bool:
    """Do they die? What is killed lives on for a moment."""
    deadline = time.monotonic() + PATIENCE
    while alive(group) and time.monotonic() < deadline:
        os.sched_yield()
    return not alive(group)


async def reaped(pid: int) -> bool:
    """Does the loop take the exit status of our child, so that we find none to look at?"""
    for _ in range(1000):
        try:
            await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            return True
    return False


@pytest.mark.parametrize(
    ("text", "code", "number", "words"),
    [
        ("exit 0", 0, None, "exit status 0"),
        ("exit 3", 3, None, "exit status 3"),
        ("no-such-command", 127, None, "exit status 127"),
        ("kill -KILL $$", None, signal.SIGKILL, "killed by SIGKILL"),
        ("kill -40 $$", None, 40, "killed by signal 40"),
    ],
)
async def test_the_end_is_reported(script: Script, text: str, code: int | None, number: int | None, words: str) -> None:
    exit, _ = await run(script(text))
    assert (exit.code, exit.signal, str(exit), exit.ok) == (code, number, words, code == 0)


async def test_lines_of_both_streams_arrive_in_their_order(script: Script) -> None:
    exit, printed = await run(script("echo a; echo b >&2; echo c; printf d", keep_stdout=100))
    assert printed.texts() == ["a", "c", "d"]
    assert printed.texts("stderr") == ["b"]
    assert sorted(printed.ends) == ["stderr", "stdout"]
    assert (exit.stdout, exit.stderr) == (b"a\nc\nd", b"b\n")


async def test_the_child_gets_its_directory_its_environment_and_nothing_to_read(script: Script, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("not for the hook")
    with (tmp_path / "in").open() as file, standard_input(file.fileno()):
        _, printed = await run(script('pwd; echo "${HOME-none}"; cat; echo end'))
    assert printed.texts() == [str(tmp_path), "none", "end"]


OF_LIBC = 1 << 31 | 1 << 32
"""Signals 32 and 33 are the C library's own. What `make` starts ignores them, and Python cannot change that."""


@pytest.fixture
def hanging_up() -> Iterator[None]:
    """As if nohup(1) had not started the tests: what it ignores hooks ignore too, for the user asked for that."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hanging_up")
async def test_the_child_has_default_signals(script: Script) -> None:
    _, printed = await run(script('yes | head -n1; echo "${PIPESTATUS[0]}"; grep -E "Sig(Blk|Ign)" /proc/self/status'))
    *pipe, blocked, ignored = printed.texts()
    assert pipe == ["y", str(128 + signal.SIGPIPE)]
    assert (int(blocked.removeprefix("SigBlk:"), 16), int(ignored.removeprefix("SigIgn:"), 16) & ~OF_LIBC) == (0, 0)


@pytest.mark.slow
async def test_time_and_memory_of_the_child_are_measured(script: Script) -> None:
    text = "dd if=/dev/zero of=/dev/null bs=200M count=1 iflag=fullblock; for ((i=0; i<20000; i++)); do :; done"
    exit, _ = await run(script(text))
    assert exit.max_rss_bytes > 200_000_000
    assert 0 < exit.user_seconds + exit.system_seconds < 2 * exit.seconds + 0.1


async def test_a_run_ends_with_its_own_process_and_loses_no_later_line(
    script: Script, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "go")
    exit, printed = await run(script("{ read -r line <go; echo late $line; } & echo early"))
    assert exit.ok
    assert printed.texts() == ["early"]
    assert "hook-1.sh[" in capfd.readouterr().err
    (tmp_path / "go").write_text("but there\n")
    await printed.wait_for("late but there")
    await printed.wait(lambda printed: printed.ends.count("stdout") == 2)


async def test_what_closes_its_output_in_time_is_waited_for(script: Script, capfd: pytest.CaptureFixture[str]) -> None:
    _, printed = await run(script("{ sleep 0.02; echo late; } &"), Patience(linger=PATIENCE))
    assert printed.texts() == ["late"]
    assert capfd.readouterr().err == ""


async def test_timeout_ends_the_hook(script: Script) -> None:
    exit, _ = await run(script("trap 'exit 0' TERM; sleep 60 & wait", timeout=0.1))
    assert exit.timed_out
    assert not exit.ok
    assert str(exit).startswith("timed out after ")


@pytest.mark.parametrize(
    "text",
    [STUBBORN, f"({STUBBORN}) & sleep 60", f"({STUBBORN}) >/dev/null 2>&1 & sleep 60"],
)
async def test_after_a_timeout_the_whole_group_is_dead(script: Script, text: str) -> None:
    children = Children(BRIEF)
    task = asyncio.create_task(children.run(script(text, timeout=0.3), Printed()))
    while not children._running:  # noqa: ASYNC110  # nothing tells of it
        await asyncio.sleep(0)
    [group] = children._running
    assert (await task).timed_out
    assert gone(group)


async def test_children_of_a_hook_that_is_ended_may_clean_up(script: Script) -> None:
    children, printed = Children(Patience(kill=PATIENCE)), Printed()
    text = "(trap 'sleep 0.05; echo cleaned; exit' TERM; echo ready; while :; do sleep 0.01; done) & wait"
    task = asyncio.create_task(children.run(script(text), printed))
    await printed.wait_for("ready")
    assert await children.stop(grace=PATIENCE) == 0
    assert (await task).signal == signal.SIGTERM
    assert printed.texts() == ["ready", "cleaned"]


async def test_a_cancelled_run_ends_its_group_and_leaks_nothing(script: Script) -> None:
    before = {*os.listdir("/proc/self/fd")}
    printed = Printed()
    task = asyncio.create_task(Children(BRIEF).run(script(f"echo $$; ({STUBBORN}) & sleep 60"), printed))
    await printed.wait(lambda printed: bool(printed.lines))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone(int(printed.texts()[0]))
    assert {*os.listdir("/proc/self/fd")} <= before


async def test_a_cancelled_run_gives_up_output_of_what_left_its_group(script: Script) -> None:
    before = {*os.listdir("/proc/self/fd")}
    printed = Printed()
    task = asyncio.create_task(Children(BRIEF).run(script("setsid sleep 2 & echo ready; wait"), printed))
    await printed.wait_for("ready")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert {*os.listdir("/proc/self/fd")} <= before


async def test_cancelled_again_it_is_killed_at_once(script: Script) -> None:
    printed = Printed()
    text = "trap 'echo asked' TERM; echo $$; while :; do sleep 0.01; done"
    task = asyncio.create_task(Children(Patience(kill=600)).run(script(text), printed))
    await printed.wait(lambda printed: bool(printed.lines))
    task.cancel()
    await printed.wait_for("asked")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await reaped(int(printed.texts()[0]))


@pytest.mark.parametrize(
    ("how", "grace", "number"), [(":", PATIENCE, signal.SIGTERM), ("trap '' TERM", 0.1, signal.SIGKILL)]
)
async def test_stop_counts_the_killed_processes_and_starts_no_more(
    script: Script, how: str, grace: float, number: int
) -> None:
    children, printed, endless = Children(Patience()), Printed(), "while :; do sleep 0.01; done"
    tasks = [asyncio.create_task(children.run(script(f"{how}; echo ready; {endless}"), printed)) for _ in range(2)]
    await printed.wait(lambda printed: len(printed.lines) == 2)
    assert await children.stop(grace) == 2 * (number == signal.SIGKILL)
    assert [exit.signal for exit in await asyncio.gather(*tasks)] == [number] * 2
    with pytest.raises(HookFailed, match="stopping"):
        await children.run(script("exit 0"), printed)


async def test_an_event_during_a_pause_of_the_machine_is_in_time() -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.call_soon(time.sleep, 0.05)
    loop.call_later(0.01, ended.set)
    assert await _within(0.01, ended)


async def test_a_run_that_waits_for_its_file_does_not_outlive_stop(script: Script) -> None:
    children, command = Children(BRIEF), script("sleep 60")
    writer = os.open(command.argv[0], os.O_WRONLY)
    task = asyncio.create_task(children.run(command, Printed()))
    await asyncio.sleep(0)
    assert await children.stop(grace=0.1) == 0
    os.close(writer)
    exit = await task
    assert exit.signal in (signal.SIGTERM, signal.SIGKILL)


async def test_stop_gives_up_output_that_was_left_behind(script: Script) -> None:
    before = {*os.listdir("/proc/self/fd")}
    children, printed = Children(BRIEF), Printed()
    await children.run(script("sleep 1 &"), printed)
    assert await children.stop(grace=0.1) == 0
    assert {*os.listdir("/proc/self/fd")} <= before


async def test_without_pidfd_a_thread_waits(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    assert (await run(script("exit 7")))[0].code == 7
    assert (await run(script("sleep 60", timeout=0.05)))[0].timed_out


@pytest.mark.slow
async def test_many_runs_leave_no_descriptor_behind(script: Script) -> None:
    children, command, printed = Children(BRIEF), script("exit 5"), Printed()
    before = {*os.listdir("/proc/self/fd")}
    for _ in range(10):
        exits = await asyncio.gather(*(children.run(command, printed) for _ in range(8)))
        assert [exit.code for exit in exits] == [5] * 8
    assert {*os.listdir("/proc/self/fd")} <= before


@pytest.mark.slow
async def test_endless_output_fills_no_memory_and_delays_no_other_hook(script: Script, tmp_path: Path) -> None:
    """30 MiB or more without a newline on both streams at once, as long as others run beside it."""
    enough = tmp_path / "enough"
    flood = f"until head -c 30M /dev/zero; [ -e {enough} ]; do :; done | tr '\\0' x"
    children, printed, quick = Children(BRIEF), Printed(), Printed()
    before, peak = resident(), 0
    task = asyncio.create_task(children.run(script(f"{flood} & {flood} >&2; wait; exit 9"), printed))
    for _ in range(6):
        assert (await children.run(script("echo quick"), quick)).ok
        peak = max(peak, resident())
    assert not task.done()
    enough.touch()
    while not task.done():
        await children.run(script("echo quick"), quick)
        peak = max(peak, resident())
    assert (await task).code == 9
    assert sum(len(text) for _, text in printed.lines) == 2 * 64 * 1024
    assert peak - before < 20 * 2**20


def resident() -> int:
    """Resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
