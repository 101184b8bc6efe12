"""How programs find the cluster: we by a child that reads kubeconfigs, processes that we start by their environment.

    with shared(settings) as settings:                     # processes with settings.hooks.environ see settings.kube
        with closing(Lookup(settings.kube)) as lookup:     # as early as possible: it runs beside our imports
            output, errors = lookup.output()               # waits; `credentials.load_connection` reads it

The child, `kubeconfig.py`, keeps the `kubernetes` package and its 30 MB out of this process. This file imports little,
so that the child starts before everything else.

A named kubeconfig or context, and a sandbox, are the only cluster that started processes find; what else leads to one
is taken out. Where none is named, they find the cluster as we do: by `KUBECONFIG`, `~/.kube/config` or the pod's
service account. No variable names a context, so one that is named needs a kubeconfig of its own, which the child
writes.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hookrunner import safe_files
from hookrunner.claimed_directories import private_directory
from hookrunner.errors import BadKubeConfig
from hookrunner.settings import KubeSettings, Settings

_PROGRAM = Path(__file__).with_name("kubeconfig.py")
_TIMEOUT = 60.0


class Lookup:
    """A running child that looks for a connection; it is started without an event loop."""

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
            for pipe in filter(None, (self._child.stdout, self._child.stderr)):
                pipe.close()
            raise BadKubeConfig(f"no credentials within {_TIMEOUT:g} s: does an exec plugin hang?") from None

    def close(self) -> None:
        """End the child and the plugins that it has started, and remove its files. May be called twice."""
        if self._child.poll() is None:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()
        self._directory.cleanup()


def _pipe_with(text: str) -> int:
    """The reading end of a pipe that contains this text: a kubeconfig that we pass is shorter than a pipe's buffer."""
    reader, writer = os.pipe()
    with open(writer, "wb") as file:
        file.write(text.encode())
    return reader


_LEADING = re.compile(
    r"KUBECONFIG|KUBERNETES_(MASTER|AUTH_\w+|PORT(_\w+)?|SERVICE_(HOST|PORT(_\w+)?))"
    r"|(HOOKRUNNER_)?KUBE_(CONFIG|CONTEXT)(_\w+)?|HELM_KUBE\w+|K8S_AUTH_\w+"
)
"""Variables by which programs find a cluster or credentials: those of client-go, of pods, of the clients for Java, of
hookrunner and the predecessors, of Helm, Terraform and Ansible."""

_NOWHERE = "http://127.0.0.1:0"
"""A server that cannot exist. Without it, clients that have no kubeconfig ask localhost:8080, where a `kubectl proxy`
may lead to a real cluster."""


def without_cluster(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment in which no cluster is found: a hook that is tested with made-up events must not change the user's
    own cluster, nor the one that a CI job runs in."""
    return _not_leading(environ) | {"KUBECONFIG": os.devnull, "KUBERNETES_MASTER": _NOWHERE}


def with_kubeconfig(environ: Mapping[str, str], paths: str) -> dict[str, str]:
    """An environment in which the cluster of a kubeconfig is found, or of several with `:` between them."""
    return _not_leading(environ) | {"KUBECONFIG": _absolute(paths)}


def in_cluster_of(environ: Mapping[str, str], kube: KubeSettings) -> dict[str, str]:
    """An environment in which the cluster of these settings is found."""
    if named := kube.derived or kube.config:
        return with_kubeconfig(environ, str(named))
    paths = environ.get("KUBECONFIG")
    return dict(environ) | ({"KUBECONFIG": _absolute(paths)} if paths else {})


@contextmanager
def shared(settings: Settings) -> Iterator[Settings]:
    """The settings under which processes that we start see the cluster of `settings.kube`. Raises StartRefused."""
    if not settings.kube.context:
        yield _shared(settings)
        return
    with private_directory(settings.hooks.tmp_dir, "kubeconfig") as directory:
        yield _shared(replace(settings, kube=replace(settings.kube, derived=directory / "kubeconfig")))


def _not_leading(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in environ.items() if not _LEADING.fullmatch(name)}


def _absolute(paths: str) -> str:
    """Paths that are valid in every working directory; `~` is expanded as by our own lookup."""
    return os.pathsep.join(str(Path(path).expanduser().absolute()) for path in paths.split(os.pathsep) if path)


def _shared(settings: Settings) -> Settings:
    environ = in_cluster_of(settings.hooks.environ, settings.kube)
    return replace(settings, hooks=replace(settings.hooks, environ=environ))
