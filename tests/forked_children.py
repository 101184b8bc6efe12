"""Children of a program that `tests/launcher.py` forked, forked themselves: the one that finds the way to the cluster,
and render workers.

Executed, they cost 0.3 and 0.15 s of CPU, nearly all of it for imports: each story starts the first, each with modules
or addons the second. Here they begin as copies of the program, in which all is imported already but Helm's library;
then they do the same work with the same descriptors, process group, environment and exit. The children of executed
programs are executed, and those of tests that start them in their own process without the fixture `forking`.

Hazards: they are forked while threads may run, and must need no lock that those may hold: they import next to nothing,
and log nothing. And Go's library reads its variables where the kernel has put those of the executed process, onto the
stack, whatever was set since; they are put there.
"""

import ctypes
import gc
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, Self

from hookrunner.charts import render_worker, renderer
from hookrunner.kube import cluster_lookup


def _import_kubeconfig() -> ModuleType:
    """Import what the first child needs, and put back the packages that it reduces to what it reads: tests use them."""
    reduced = ("kubernetes", "requests_oauthlib")
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in reduced}
    kubeconfig = import_module("hookrunner.kube.kubeconfig")
    for name in [name for name in sys.modules if name.partition(".")[0] in reduced]:
        del sys.modules[name]
    sys.modules.update(before)
    return kubeconfig


kubeconfig = _import_kubeconfig()
LOOKUP = str(cluster_lookup._PROGRAM)
RENDERER = renderer._program()
ENV_START = 47
"""Place in `/proc/self/stat` behind the name of the program: the address of the text of the first variable."""


def _first_variables() -> "ctypes.Array[ctypes.c_char_p]":
    """Pointers to the variables of the executed process: the kernel writes them onto the stack, the texts above. To be
    found before a variable is set or removed."""
    text = int(Path("/proc/self/stat").read_text("ascii").rpartition(")")[2].split()[ENV_START])
    (stack,) = (line for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith("[stack]"))
    bottom = int(stack.partition("-")[0], 16)
    words: list[int] = memoryview(ctypes.string_at(bottom, (text - bottom) // 8 * 8)).cast("Q").tolist()
    if text not in words:  # the first variable is removed
        return (ctypes.c_char_p * 0)()
    first = words.index(text)
    return (ctypes.c_char_p * words[first:].index(0)).from_address(bottom + 8 * first)


VARIABLES = _first_variables()


@dataclass(frozen=True)
class Start:
    """How a child begins: what becomes its descriptors 0, 1 and 2, all of them redirected; those that it keeps under
    their numbers; its variables, None for those of its parent; its process group, -1 for that of its parent and 0 for
    one of its own."""

    standard: tuple[int, int, int]
    kept: tuple[int, ...]
    environ: Mapping[str, str] | None
    process_group: int

    @classmethod
    def of(cls, rest: Sequence[Any]) -> Self:
        """From the arguments of `Popen._execute_child` behind the first, as in Python 3.11 to 3.13."""
        return cls((rest[9], rest[12], rest[14]), tuple(rest[3]), rest[5], rest[-1])


class ForkingPopen(subprocess.Popen[bytes]):
    """Popen that forks these children and executes everything else."""

    def _execute_child(self, args: Sequence[str], *rest: Any) -> None:
        """Replaces a private method."""
        work = _work(args)
        if work is None:
            super()._execute_child(args, *rest)  # type: ignore[misc]
            return
        start = Start.of(rest)
        self.pid = os.fork()
        if self.pid == 0:
            _become(start, work)
        if start.process_group == 0:
            with suppress(PermissionError, ProcessLookupError):  # the child does so too; whichever is first
                os.setpgid(self.pid, 0)
        self._child_created = True
        self._close_pipe_fds(*rest[9:15])  # type: ignore[attr-defined]


def install() -> None:
    """Fork these children of this process from now on."""
    subprocess.Popen = ForkingPopen  # type: ignore[assignment,misc]


def _work(args: Sequence[str]) -> Callable[[], None] | None:
    """What the child of this command does, None for a command that is executed."""
    match args:
        case [_, "-P", program, *words] if program == LOOKUP:
            return partial(_find_cluster, words)
        case [_, "-P", "-c", program, *words] if program == RENDERER:
            return partial(_render, words)
    return None


def _become(start: Start, work: Callable[[], None]) -> NoReturn:
    """Do the work of a program in a new process."""
    code = 1
    try:
        gc.disable()
        signal.set_wakeup_fd(-1)  # that of the program's event loop
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        if start.process_group == 0:
            os.setpgid(0, 0)
        for target, descriptor in enumerate(start.standard):
            os.dup2(descriptor, target)
        # pytest has put others there, which have no descriptors.
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        for before, behind in pairwise((2, *sorted(start.kept), os.sysconf("SC_OPEN_MAX"))):
            os.closerange(before + 1, behind)
        if start.environ is not None:
            os.environ.clear()
            os.environ.update(start.environ)
        work()
        code = 0
    except BaseException:
        traceback.print_exc()  # the program quotes its last words
    finally:
        os._exit(code)


def _find_cluster(words: Sequence[str]) -> None:
    # Read by the package when it is imported: in the launcher's server, with other variables.
    vars(kubeconfig)["KUBE_CONFIG_DEFAULT_LOCATION"] = os.environ.get("KUBECONFIG", "~/.kube/config")
    kubeconfig.main(*words)
    sys.stdout.flush()


def _render(words: Sequence[str]) -> None:
    sys.argv = ["-c", *words]
    texts = [b"%b=%b" % pair for pair in os.environb.items()]
    assert len(texts) <= len(VARIABLES), f"there is room for only {len(VARIABLES)} variables"
    VARIABLES[:] = texts + [None] * (len(VARIABLES) - len(texts))
    render_worker.main()
