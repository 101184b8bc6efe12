"""Which files in the hooks directory are hooks, how they are called, and in which order (shell-operator.md §1.2, §1.3).

Only names and modes are looked at; what a hook wants is asked in `catalog.py`.
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hookrunner import log
from hookrunner.errors import StartRefused

_NOT_HOOKS = (".yaml", ".json", ".md", ".txt")
_ANY_EXECUTE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
_LONGEST_SAFE_NAME = 160
"""A file name may have 255 bytes; a temp file's name adds up to 70 to the hook's."""
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L"}
)

_log = log.get("hooks.discovery")


@dataclass(frozen=True, slots=True)
class HookFile:
    """An executable file. `name` is its path relative to the hooks directory and the key of everything about it."""

    name: str
    path: Path


def find(directory: Path) -> list[HookFile]:
    """All hooks below an absolute directory, ordered by path, bytewise. None is fine.

    Hidden directories and those named `lib` are left out, symlinks to directories are not followed, but the hooks
    directory itself may be one. A symlink to a file counts as executable, as hooks mounted from a ConfigMap need it.
    Raises StartRefused if the directory, or one below it, cannot be read.
    """
    try:
        paths = sorted(_files(f"{directory}/"), key=os.fsencode)
        _warn_of_library(directory / "lib")
    except FileNotFoundError as error:
        raise StartRefused(
            f"hooks directory: path '{error.filename}' not exist; create it or set --hooks-dir"
        ) from None
    except OSError as error:
        raise StartRefused(f"hooks directory: cannot read '{error.filename}': {error.strerror}") from None
    return [HookFile(path.removeprefix(f"{directory}/"), Path(path)) for path in paths]


def safe_name(name: str) -> str:
    """A hook's name for file names: letters, digits, `.` and `-` only."""
    plain = unicodedata.normalize("NFKD", re.sub(r"[./]", "-", name).strip().translate(_LETTERS))
    dashed = re.sub(r"[^A-Za-z0-9.-]", "", re.sub(r"[ &_=+:]", "-", plain))
    return re.sub(r"-+", "-", dashed)[:_LONGEST_SAFE_NAME]


def _files(directory: str) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path) if entry.name != "lib" else ()
            elif entry.is_dir():
                _log.warn("symlink to a directory is skipped; put the hooks into a real one", path=entry.path)
            elif not entry.name.endswith(_NOT_HOOKS) and _executable(entry):
                yield entry.path


def _executable(entry: os.DirEntry[str]) -> bool:
    if entry.stat(follow_symlinks=False).st_mode & _ANY_EXECUTE:
        return True
    _log.warn(
        "file is skipped", path=entry.path, error=f"it is not executable; to make it a hook: chmod +x {entry.path}"
    )
    return False


def _warn_of_library(directory: Path) -> None:
    """Somebody may have meant an executable file in `lib` to be a hook."""
    for folder, subfolders, names in os.walk(directory):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.lstat(path).st_mode & _ANY_EXECUTE:
                text = "file has executable permissions and is located in the ignored 'lib' directory"
                _log.warn(text, file=path.removeprefix(str(directory)))
