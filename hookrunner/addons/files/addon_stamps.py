"""Which directories of addons have changed: a stamp of each, made of the state of the files that are read once.

    stamps = stamps_of([Path("/addons")])       # two that are equal: nothing has to be read again

Those are addon.yaml, values, schemas, definitions and hooks. Channels and packages are not among them: each run reads
them. Files are looked at from time to time, since nothing reports changes of all that may stand behind a path: volumes
of a ConfigMap, links, network file systems.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from hookrunner.addons.files.addon_file import ADDON_FILE
from hookrunner.charts.chart_files import CRDS
from hookrunner.modules.discovery import VALUES_FILE
from hookrunner.safe_files import list_directory

_TREES = ("openapi", "hooks", CRDS)
_COMPILED = "__pycache__"
"""Where Python leaves a hook's own modules, compiled, at the hook's first run: no change of the addon."""


def addon_directories(root: Path) -> Iterator[Path]:
    """Every directory in an addons directory that could be an addon, ordered by name. Raises StartRefused."""
    for entry in list_directory(root, "addons-dir"):
        if not entry.name.startswith(".") and (os.path.isdir(entry.path) or entry.is_symlink()):
            yield Path(entry.path)


def stamps_of(roots: Iterable[Path]) -> Mapping[Path, str]:
    """The stamps of all directories in these addons directories. Raises StartRefused if one cannot be read."""
    return {directory: stamp_of(directory) for root in roots for directory in addon_directories(root)}


def stamp_of(directory: Path) -> str:
    """The stamp of a directory, which changes with each of its files that are read once."""
    states = [_state(path, path.relative_to(directory)) for path in _files(directory)]
    return hashlib.sha256("\n".join(sorted(states)).encode(errors="surrogateescape")).hexdigest()[:16]


def _files(directory: Path) -> Iterator[Path]:
    yield from (directory / ADDON_FILE, directory / VALUES_FILE)
    for tree in _TREES:
        for folder, folders, names in os.walk(directory / tree):
            folders[:] = [name for name in folders if name != _COMPILED]
            yield from (Path(folder, name) for name in names)


def _state(path: Path, name: Path) -> str:
    """Name and state of a file; a link is what it leads to. The state of one that does not exist is empty."""
    try:
        found = path.stat()
    except OSError:
        return f"{name}"
    times = found.st_mtime_ns, found.st_ctime_ns
    return f"{name} {found.st_dev} {found.st_ino} {found.st_mode} {found.st_size} {times}"
