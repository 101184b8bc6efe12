"""Builds the programs of other projects that tests compare with or talk to.

    program = go_program("kstatus", Path(__file__).parent / "go")

Each is a Go module of a few lines, built in a minute and kept outside the checkout, apart from the control plane: keyed
by its sources and the kind of machine.
"""

import hashlib
import os
import platform
import sys
from functools import partial
from pathlib import Path

from tests.controlplane.build import find_go
from tests.controlplane.cache import cached, run


def go_program(name: str, module: Path) -> Path:
    """The program that a module builds. Raises `BedUnavailable` without one."""
    return cached(f"{name}-{_key(module)}", partial(_build, name, module)) / name


def _key(module: Path) -> str:
    digest = hashlib.sha256(f"{sys.platform} {platform.machine()}".encode())
    for file in sorted(module.iterdir()):
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _build(name: str, module: Path, into: Path) -> None:
    env = dict(os.environ, CGO_ENABLED="0", GOTOOLCHAIN="local", GOFLAGS="-mod=readonly -trimpath -buildvcs=false")
    command = [str(find_go()), "build", "-ldflags=-s -w", "-o", str(into / name), "."]
    run(command, cwd=module, env=env, why=f"{name} could not be built")
