"""Reaps processes that lost their parent and were given to this one, because it is PID 1 or a subreaper (prctl(2)).

Nothing is reaped before it is known whose it is, so no exit status is stolen from those who wait for their own child:
the runs of `children.py`, and other code here that starts processes (workers, credential plugins). The latter stay in
this process's own group, while hooks and all that they start live in groups of their own.
"""

import os
from collections.abc import Container
from contextlib import suppress
from pathlib import Path


def reap_orphans(ours: Container[int]) -> None:
    """Reap every ended child that nobody waits for. `ours` are the children whose `run` is going on.

    The kernel shows one ended child at a time, the oldest first. If that is one of ours, look again when it has been
    reaped, which is soon.
    """
    while (pid := _ended_child()) is not None and pid not in ours:
        if not _is_orphan(pid):
            _reap_behind(ours)  # its owner may never come for it
            return
        os.waitpid(pid, os.WNOHANG)


def _ended_child() -> int | None:
    """Look at a child that has ended without taking its exit status (WNOWAIT)."""
    try:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return ended.si_pid if ended else None


def _is_orphan(pid: int) -> bool:
    try:
        return os.getpgid(pid) != os.getpgrp()
    except ProcessLookupError:  # a thread has waited for it in the meantime
        return False


def _reap_behind(ours: Container[int]) -> None:
    """Reap those that the kernel does not show because another zombie stands before them.

    Does nothing on a kernel without the list of children, proc_tid_children(5): then they wait for that zombie's owner.
    """
    for pid in _children():
        if pid not in ours and _is_orphan(pid):
            os.waitpid(pid, os.WNOHANG)


def _children() -> list[int]:
    """The children of all threads, whether they have ended or not."""
    found: list[int] = []
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            found += map(int, path.read_text().split())
    return found
