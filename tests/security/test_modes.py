"""What another user of the machine sees of a running program: modes of files and sockets, command lines. And what its
processes see of each other's: variables, descriptors.

Level: sandbox."""

import base64
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.controlplane.processes import free_port
from tests.flows.modules.hooks import at, configmap, until_told, watching
from tests.flows.modules.hooks import hook as module_hook
from tests.flows.modules.world import World
from tests.flows.scripts import hook
from tests.security.attacked import ALLOW, VALIDATING

TOKEN, PASSWORD, VARIABLE = "token-4711", "swordfish-4711", "variable-4711"
GIVEN = {"hooks", "modules", "global-hooks", "told", "log", "errors", "kc"}
EMPTY = {"home", "shared"}
"""What the test has made, and not the program. It may use the latter."""


@pytest.fixture
async def running(world: World) -> World:
    """A program whose umask hides nothing, with all that it keeps to itself: a kubeconfig with a token and a context of
    its own, values of a Secret, the key of webhooks; workers of both kinds, and a module's hook that is running."""
    config = yaml.safe_load((world.directory / "kc").read_text())
    config["users"][0]["user"] = {"token": TOKEN}
    (world.directory / "kc").write_text(yaml.safe_dump(config))
    for place in (*EMPTY, "global-hooks", "told"):
        (world.directory / place).mkdir()
    world.operator.executed = True  # variables, command lines and open files are what is looked at
    world.operator.environ = {
        "HOME": str(world.directory / "home"),
        "TMPDIR": str(world.directory / "shared"),
        "TOKEN": VARIABLE,
    }
    world.operator.flags += ("--kube-context=sandbox", "--config-secret=private", f"--webhook-port={free_port()}")
    world.operator.flags += ("--log-level=debug",)
    world.write("hooks/v.sh", hook(VALIDATING, ALLOW))
    world.module("010-a", {"templates/cm.yaml": configmap("a", "p: {{ .Values.a.password | quote }}")})
    bindings = {"kubernetes": [watching(jqFilter=". + {}")], "afterHelm": 1}
    world.module("010-a", {"hooks/h.sh": module_hook(at("afterHelm", until_told("go")), **bindings)})
    data = {"a": base64.b64encode(f"password: {PASSWORD}".encode()).decode()}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "private"}, "data": data}
    await world.ask("POST", world.path(resource="secrets"), secret)
    await world.create("watched", watched="y")
    await world.configure(aEnabled="true")
    before = os.umask(0)
    try:
        world.operator.start()
    finally:
        os.umask(before)
    await world.ran("afterHelm")
    return world


@dataclass(frozen=True, slots=True)
class Process:
    """Its command line, its variables, and what it has open beside its standard streams."""

    line: str
    variables: str
    opened: frozenset[str]


def processes(first: int) -> Iterator[Process]:
    """A process and all that it has started, but for those that end meanwhile."""
    place = Path(f"/proc/{first}")
    with suppress(OSError):
        opened = frozenset(os.readlink(file) for file in (place / "fd").iterdir() if int(file.name) > 2)
        yield Process((place / "cmdline").read_text(), (place / "environ").read_text(), opened)
        for children in [file.read_text() for file in place.glob("task/*/children")]:
            for child in children.split():
                yield from processes(int(child))


def readable_by_others(top: Path) -> dict[str, str]:
    """Modes of what the program has made, where others have a right to it."""
    paths = [path.relative_to(top) for path in top.rglob("*")]
    made = [path for path in paths if path.parts[0] not in GIVEN and str(path) not in EMPTY]
    modes = {str(path): stat.S_IMODE((top / path).lstat().st_mode) for path in made}
    names = " ".join(modes)
    for kept in ("debug.socket", "/kubeconfig", "binding-context", "module-values"):
        assert kept in names
    return {name: oct(mode) for name, mode in modes.items() if mode & 0o077}


def inherited(program: Process, others: list[Process]) -> dict[str, list[str]]:
    """Files, sockets and pipes of the program that its other processes have."""
    found = {one.line: [name for name in one.opened & program.opened if "anon_inode" not in name] for one in others}
    return {line: names for line, names in found.items() if names}


async def test_other_users_and_processes_get_no_secret_of_a_running_program(running: World) -> None:
    program, *others = processes(running.operator.pid)
    lines = " ".join(one.line for one in others)
    for expected in ("jq/worker.py", "hookrunner.charts.render_worker", "h.sh"):
        assert expected in lines
    log = (running.directory / "log").read_text()
    assert [text for text in (program.line, lines, log) if TOKEN in text or PASSWORD in text] == []
    assert [one.line for one in (program, *others) if TOKEN in one.variables or PASSWORD in one.variables] == []
    assert [one.line for one in others if "worker" in one.line and VARIABLE in one.variables] == []
    assert readable_by_others(running.directory) == {}
    assert inherited(program, others) == {}
    running.operator.tell("go")
