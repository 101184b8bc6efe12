"""The example in shell: virtual machines of libvirt, with a `virsh` of a few lines. Level: pure."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.providers.provider_calls import PROVIDERS, ask, node

VIRSH = r"""#!/bin/sh
cat >/dev/null # as ssh does, which virsh may start
[ ! -e "$0.broken" ] || { echo "error: failed to connect to the hypervisor"; exit 1; }
[ ! -e "$0.empty" ] || exit 0
case "$*" in
"list --all --uuid --name") printf 'u1   a\nu2   b\nu3   c\n\n' ;;
"domstate u1") printf 'running\n\n' ;;
"domstate u2") printf 'shut off\n\n' ;;
"domstate u3") printf 'pmsuspended\n\n' ;;
esac
"""
NODES = [node("a"), node("q", "libvirt://u2"), node("c"), node("x", "libvirt://u9"), node("y"), node("z", "kind://z")]


@pytest.fixture
def virsh(tmp_path: Path) -> Path:
    program = tmp_path / "virsh"
    program.write_text(VIRSH)
    program.chmod(0o755)
    return program


def asked(virsh: Path) -> Any:
    path = f"{virsh.parent}:{os.environ['PATH']}"
    return ask(PROVIDERS / "libvirt", Path("none"), "instances", {"nodes": NODES, "want": ["state"]}, PATH=path)


def test_it_has_no_mistake_that_shellcheck_finds() -> None:
    subprocess.run(["shellcheck", PROVIDERS / "libvirt"], check=True)


def test_each_node_has_the_state_of_its_machine(virsh: Path) -> None:
    entries = asked(virsh)["result"]["instances"]
    assert [(entry["name"], entry["state"], entry.get("providerID")) for entry in entries] == [
        ("a", "running", "libvirt://u1"),
        ("q", "shutdown", "libvirt://u2"),
        ("c", "unknown", "libvirt://u3"),
        ("x", "notFound", None),
        ("y", "skip", None),
        ("z", "skip", None),
    ]


@pytest.mark.parametrize("how", ["broken", "empty"])
def test_without_a_list_nothing_is_said_of_any_machine(virsh: Path, how: str) -> None:
    virsh.with_suffix(f".{how}").touch()
    assert asked(virsh)["error"]["code"] == "Unavailable"
