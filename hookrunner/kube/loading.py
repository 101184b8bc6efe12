"""The child that finds out how to reach the cluster, `kubeconfig.py`, from its start to what it printed.

    with closing(Lookup(settings)) as loading:            # as early as possible: it runs beside our imports
        output, errors = loading.output()                  # waits; `credentials.load_connection` reads it

It keeps the `kubernetes` package and its 44 MB out of this process. This file imports little, so that the child starts
before everything else.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from hookrunner import safe_files
from hookrunner.errors import BadKubeConfig
from hookrunner.settings import KubeSettings

_PROGRAM = Path(__file__).with_name("kubeconfig.py")
_TIMEOUT = 60.0


class Lookup:
    """A running child that looks for a connection; no event loop is needed to start it."""

    def __init__(self, settings: KubeSettings) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="hookrunner-")
        asked = [str(settings.config or ""), settings.context, self._directory.name, str(settings.derived or "")]
        argv = [sys.executable, "-P", str(_PROGRAM), *asked, *(["stdin"] if settings.text else [])]
        pipe = subprocess.PIPE
        stdin = _pipe_with(settings.text) if settings.text else os.open(os.devnull, os.O_RDONLY)
        try:
            with safe_files.original_limit(stdin):
                self._child = subprocess.Popen(argv, stdin=stdin, stdout=pipe, stderr=pipe, process_group=0)
            safe_files.restore_limit(self._child.pid)
        finally:
            os.close(stdin)

    def output(self) -> tuple[bytes, bytes]:
        """Wait for its end: what it printed on standard output and on standard error. Raises BadKubeConfig."""
        try:
            return self._child.communicate(timeout=_TIMEOUT)
        except subprocess.TimeoutExpired:
            raise BadKubeConfig(f"no credentials within {_TIMEOUT:g} s: does an exec plugin hang?") from None

    def close(self) -> None:
        """End the child and whatever plugin it has started, and remove its files. May be called twice."""
        if self._child.poll() is None:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()
        self._directory.cleanup()


def _pipe_with(text: str) -> int:
    """The reading end of a pipe that has only this text in it: a kubeconfig that we pass is shorter than what a
    pipe takes without a reader."""
    reader, writer = os.pipe()
    with open(writer, "wb") as file:
        file.write(text.encode())
    return reader
