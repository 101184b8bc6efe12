"""Whether Kubernetes must be asked again: the inputs of tests that compare the sandbox with it, and their last success.

`live.json` holds one hash for each room of such tests. As long as the inputs of a room have that hash, its tests would
ask the same Kubernetes the same questions about the same code, so they are left out. After a change they run; when they
pass, write the new hashes and commit them:

    pytest --cluster --live=always -m live && python -m tests.live
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = Path(__file__).with_name("live.json")

PACKAGES = ("requirements/image.txt", "requirements/ci.txt")
KUBERNETES = ("tests/controlplane/go/go.mod", "tests/controlplane/*.py", "tests/tables.py", *PACKAGES)
SANDBOX = ("kubesandbox/**/*", "kubetypes/**/*", *KUBERNETES)

ROOMS: Mapping[str, tuple[str, ...]] = {
    # The contract holds on the real server whatever the sandbox does; the sandbox's leg runs always.
    "tests/kubesandbox/contract": (
        "tests/kubesandbox/contract/**/*",
        "tests/kubesandbox/recording.py",
        "tests/kubesandbox/recorded/contract.*",
        *KUBERNETES,
    ),
    "tests/kubesandbox": ("tests/kubesandbox/**/*", *SANDBOX),
}
"""Directories of tests, the innermost first, each with the patterns of its inputs."""

_LEVEL = re.compile(rb"\s+Level: [a-zA-Z ]+\.")


def room_of(path: Path) -> str:
    """The room of a test file; empty if its tests are not live."""
    inside = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    return next((room for room in ROOMS if inside.startswith(f"{room}/")), "")


@cache
def changed() -> tuple[str, ...]:
    """Rooms whose inputs differ from those of the last success."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return tuple(room for room in ROOMS if kept.get(room) != digest(room))


def digest(room: str) -> str:
    """The hash of a room's inputs: names and contents, but the levels that test files state."""
    whole = hashlib.sha256()
    for file in inputs(room):
        content = _LEVEL.sub(b"", file.read_bytes(), count=1) if file.suffix == ".py" else file.read_bytes()
        whole.update(f"{file.relative_to(ROOT)}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return whole.hexdigest()


def inputs(room: str) -> list[Path]:
    """The files of a room's inputs."""
    return sorted({file for pattern in ROOMS[room] for file in _files(pattern)})


def _files(pattern: str) -> Iterator[Path]:
    return (file for file in ROOT.glob(pattern) if file.is_file() and "__pycache__" not in file.parts)


if __name__ == "__main__":
    KEPT.write_text(json.dumps({room: digest(room) for room in ROOMS}, indent=2) + "\n")
