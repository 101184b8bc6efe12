"""A process that leads a group and is not reaped yet: when it ends, signals to its group, its exit status.

On Linux the event loop waits on a pidfd (pidfd_open(2)), elsewhere a thread waits. With a pidfd the ended leader stays
a zombie until `reap`, so that its group can be signalled safely: only an unreaped leader keeps the kernel from giving
the id of the group to another process.
"""

import asyncio
import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hookrunner import log
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class WaitStatus:
    """What wait4(2) returns: the exit code, negative for a signal, None if other code took it; CPU and peak memory."""

    code: int | None
    resources: resource.struct_rusage


class Leader:
    """A started process that is not reaped yet.

    `ended` is set when it has ended, by itself or not; `woken` then too, and before that by code that
    interrupts the wait. `end` is the time.monotonic() of its end.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ended = asyncio.Event()
        self.woken = asyncio.Event()
        self.end = 0.0
        self._loop = asyncio.get_running_loop()
        self._usage: WaitStatus | None = None
        self._released = False
        try:
            self._pidfd = os.pidfd_open(pid)
        except (AttributeError, OSError):  # not Linux, or no descriptor left
            threading.Thread(target=self._wait, name=f"wait-{pid}", daemon=True).start()
        else:
            self._loop.add_reader(self._pidfd, self._readable)

    @property
    def reaped(self) -> bool:
        return self._usage is not None

    def signal(self, number: signal.Signals) -> None:
        """Send to the whole group. A group that has ended is no error."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass
        except PermissionError as error:
            _log.warn(f"cannot send {number.name} to the hook's processes", pid=self.pid, error=error)

    def reap(self) -> WaitStatus:
        """The exit status of a process that has ended; the zombie is gone after it."""
        if self._usage is None:
            self._usage = _wait4(self.pid)
        return self._usage

    def release(self) -> None:
        """Give up the exit status: reap the zombie now, or when the process ends."""
        self._released = True
        if self.ended.is_set():
            self._discard()

    def group(self) -> list[str]:
        """The processes in the group besides the leader: `name[pid]`. Empty where there is no /proc."""
        return [f"{row.name}[{row.pid}]" for row in processes() if row.group == self.pid != row.pid]

    def _readable(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._has_ended()

    def _has_ended(self) -> None:
        self.end = time.monotonic()
        self.ended.set()
        self.woken.set()
        if self._released:
            self._discard()

    def _discard(self) -> None:
        with suppress(ChildProcessError):  # reaped already, here or by `reap_orphans`
            os.waitpid(self.pid, os.WNOHANG)

    def _wait(self) -> None:
        self._usage = _wait4(self.pid)
        with suppress(RuntimeError):  # the loop was closed in the meantime
            self._loop.call_soon_threadsafe(self._has_ended)


def _wait4(pid: int) -> WaitStatus:
    try:
        _, status, resources = os.wait4(pid, 0)
    except ChildProcessError:  # SIGCHLD is ignored, or other code waits for every child
        _log.error("the exit status of a process was taken by other code", pid=pid)
        return WaitStatus(None, resource.struct_rusage((0,) * 16))
    return WaitStatus(os.waitstatus_to_exitcode(status), resources)


class ProcessUsage:
    """What a running process has used so far, proc_pid_stat(5): reads are 10 µs. Where there is no /proc, and after its
    end, all are 0."""

    def __init__(self, pid: int) -> None:
        try:
            self._file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        except OSError:
            self._file = -1

    def read(self) -> tuple[float, float, int]:
        """Seconds of user and of system CPU time, and bytes of memory (RSS)."""
        try:
            fields = os.pread(self._file, 1024, 0).rpartition(b")")[2].split()
        except OSError:
            return 0.0, 0.0, 0
        return int(fields[11]) * _TICK, int(fields[12]) * _TICK, int(fields[21]) * _PAGE

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One process: its name, its state (one letter, `Z` for a zombie), its parent and its process group."""

    pid: int
    name: str
    state: str
    parent: int
    group: int


def processes() -> Iterator[ProcessRow]:
    """Every process that /proc shows, proc_pid_stat(5). Those that end during the call may be missing. About 20 µs
    each."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            head, _, tail = Path("/proc", number, "stat").read_text(errors="replace").rpartition(")")
        except OSError:
            continue
        pid, _, name = head.partition(" (")
        state, parent, group, *_ = tail.split()
        yield ProcessRow(int(pid), name, state, int(parent), int(group))
