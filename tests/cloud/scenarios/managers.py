"""The two managers that scenes are played with: Kubernetes' own, and ours."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from benchmarks import proc
from hookrunner.cli.debug import ask
from tests import launcher
from tests.cloud.scenarios.documents import SIMCLOUD, Document
from tests.cloud.scenarios.world import World
from tests.oracles.cloud_manager import upstream_command, upstream_manager

QUICK = (
    "--node-monitor-period=300ms",
    "--node-status-update-frequency=700ms",
    "--route-reconciliation-period=500ms",
    "--cluster-cidr=10.244.0.0/16,fd00:10:244::/56",
)
"""Flags that both have, with periods that do not let a test wait."""
OLD_ENOUGH = "--node-delete-min-age=0s"
UNBOUNDED = ("--node-delete-max-per-pass=0", "--node-delete-max-ratio=1")
"""Flags of hookrunner that let Nodes go: at any age, as many at once as are gone."""


@contextmanager
def upstream(world: World, *flags: str, provider: Path = SIMCLOUD) -> Iterator[None]:
    """Kubernetes' own, with one worker for each thing to do, as is its default."""
    variables = {"CLOUD_CONFIG": str(world.state)}
    command = upstream_command(world.kubeconfig, world.directory, (str(provider),), variables)
    with upstream_manager(world.directory, (*command, *QUICK, *flags)):
        yield


def start_ours(world: World, *flags: str, provider: Path = SIMCLOUD) -> launcher.Program:
    """`hookrunner cloud start`, alone with its cluster, for who ends it. Its log is `ours.log` in the world's
    directory."""
    words = ["cloud", "start", f"--cloud-provider={provider}", f"--cloud-config={world.state}", *QUICK]
    own = (f"--kube-config={world.kubeconfig}", "--leader-elect=false", "--listen-port=0", *flags)
    places = (f"--debug-unix-socket={world.directory / 'debug.socket'}", f"--tmp-dir={world.directory / 'tmp'}")
    with (world.directory / "ours.log").open("ab") as log:
        descriptor = log.fileno()
        return launcher.start(
            [*words, *own, *places], cwd=world.directory, env=clean_environment(), stdout=descriptor, stderr=descriptor
        )


@contextmanager
def ours(world: World, *flags: str, provider: Path = SIMCLOUD) -> Iterator[launcher.Program]:
    """The same until the end of the block, at which it ends well."""
    manager = start_ours(world, *flags, provider=provider)
    try:
        yield manager
    finally:
        manager.send_signal(15)
        code = manager.wait()
    assert code == 0, f"it ended with {code}; its log is {world.directory / 'ours.log'}"


def read_status(world: World) -> Document:
    """What `hookrunner cloud status --output=json` prints of that manager, empty until it can be asked. It is asked
    here, and again and again: a process of the command takes ten times the CPU."""
    try:
        status: Document = json.loads(ask((world.directory / "debug.socket",), "/cloud/status.json"))
    except click.ClickException:
        return {}
    return status


def is_calling(manager: launcher.Program, verb: str) -> bool:
    """Does a process of the provider work on this verb?"""
    return any(_command(pid).endswith(f" {verb} ") for pid in proc.descendants(manager.pid))


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""  # it has ended


def clean_environment() -> dict[str, str]:
    """The variables of this process, without settings of hookrunner and without a cluster."""
    return {name: text for name, text in os.environ.items() if not name.startswith(("HOOKRUNNER_", "KUBE"))}
