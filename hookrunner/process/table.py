"""The process table as /proc shows it, proc_pid_stat(5). Empty on systems without /proc."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One process: its name, its state (one letter, `Z` for a zombie), its parent and its process group."""

    pid: int
    name: str
    state: str
    parent: int
    group: int


def processes() -> Iterator[Row]:
    """Every process that can be seen. Those that end meanwhile may be missing. About 20 µs each."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, tail = path.read_text(errors="replace").rpartition(")")
        except OSError:
            continue
        pid, _, name = head.partition(" (")
        state, parent, group, *_ = tail.split()
        yield Row(int(pid), name, state, int(parent), int(group))
