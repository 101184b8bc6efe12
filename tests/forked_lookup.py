"""The child that finds the way to the cluster, forked from a program that `tests/launcher.py` forked.

Executed, it costs 0.3 s of CPU, nearly all of it for the import of the `kubernetes` package, and each story starts one.
Here it begins as a copy of the program, in which that package is imported already; then it does the same work with the
same descriptors, process group, environment and exit. Lookups while an event loop or a second thread runs (renewed
credentials, the sandbox) are executed, as are those of executed programs and of tests that look for a cluster in their
own process.
"""

import asyncio
import gc
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from typing import Any

from hookrunner.kube import cluster_lookup, kubeconfig

PROGRAM = str(cluster_lookup._PROGRAM)
READ_BY_CHILD, WRITTEN_BY_CHILD, ERRORS_BY_CHILD = 0, 3, 5
"""Places of the child's ends among the six descriptors that `_execute_child` gets."""


class ForkingPopen(subprocess.Popen[bytes]):
    """Popen that forks `kubeconfig.py` and executes everything else."""

    def _execute_child(self, args: Sequence[str], *rest: Any) -> None:
        """Replaces a private method; its arguments are those of Python 3.11 to 3.13: the descriptors are the tenth to
        fifteenth, the process group is the last."""
        if PROGRAM not in args or not _may_fork():
            super()._execute_child(args, *rest)  # type: ignore[misc]
            return
        descriptors, process_group = rest[9:15], rest[-1]
        self.pid = os.fork()
        if self.pid == 0:
            child = (descriptors[READ_BY_CHILD], descriptors[WRITTEN_BY_CHILD], descriptors[ERRORS_BY_CHILD])
            _become(child, args[args.index(PROGRAM) + 1 :])
        with suppress(PermissionError, ProcessLookupError):  # the child does so too; whichever is first
            os.setpgid(self.pid, process_group)
        self._child_created = True
        self._close_pipe_fds(*descriptors)  # type: ignore[attr-defined]


def install() -> None:
    """Fork the lookups of this process from now on."""
    subprocess.Popen = ForkingPopen  # type: ignore[assignment,misc]


def _may_fork() -> bool:
    return threading.active_count() == 1 and asyncio._get_running_loop() is None


def _become(descriptors: Sequence[int], words: Sequence[str]) -> None:
    """Do what the program does, in a new process; does not return."""
    code = 1
    try:
        gc.disable()
        os.setpgid(0, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        # Read by the package when it is imported: in the launcher's server, with other variables.
        vars(kubeconfig)["KUBE_CONFIG_DEFAULT_LOCATION"] = os.environ.get("KUBECONFIG", "~/.kube/config")
        with open(1, "w", closefd=False) as output, redirect_stdout(output):
            kubeconfig.main(*words)
        code = 0
    finally:
        os._exit(code)
