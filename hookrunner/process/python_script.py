"""Which Python would execute a command, if that can be known without starting it: from the first line of the file, as
Linux reads it, or from an interpreter that is named before the file."""

import errno
import os
import re
import shutil
import stat
from functools import lru_cache

from hookrunner.process import hashbang
from hookrunner.process.child import Command
from kubetypes.light_dataclasses import dataclass

_PYTHON = re.compile(r"python(3(\.\d+)?)?")
_FLAGS = re.compile(r"-[bBdEIOPqsSu]+")
"""Those that a prepared interpreter is started with, too."""
_EFFECTS = ("PYTHONDUMPREFS", "PYTHONINSPECT", "PYTHONMALLOCSTATS", "PYTHONPROFILEIMPORTTIME", "PYTHONVERBOSE")
"""Variables by which an interpreter prints what it does at its start and end."""
_ELF = b"\x7fELF"


class NotForked(Exception):
    """A command needs a process of its own; the message is the reason."""


class NoPython(NotForked):
    """It is no Python script."""


@dataclass(frozen=True, slots=True)
class PythonScript:
    """A script, and the interpreter with its flags. `name` is what Linux calls the process if it is not the
    interpreter's name."""

    interpreter: tuple[str, ...]
    path: str
    arguments: tuple[str, ...]
    name: str = ""


def file_of(command: Command) -> str:
    """The file that is executed, with or without an interpreter named before it."""
    first, *rest = command.argv
    return rest[0] if rest and _PYTHON.fullmatch(os.path.basename(first)) else first


def is_python(command: Command) -> bool:
    """Whether a Python runs it."""
    try:
        find_script(command)
    except NoPython:
        return False
    except NotForked:
        pass
    return True


def find_script(command: Command) -> PythonScript:
    """The script that the command runs. Raises NotForked, NoPython."""
    first, *rest = command.argv
    if file_of(command) != first:
        script = PythonScript((first,), rest[0], tuple(rest[1:]))
    else:
        words = _read_first_line(first)
        if os.path.basename(words[0]) == "env" and len(words) == 2 and _PYTHON.fullmatch(words[1]):
            script = PythonScript((_find_program(words[1], command),), first, tuple(rest))
        elif _PYTHON.fullmatch(os.path.basename(words[0])):
            script = PythonScript(words, first, tuple(rest), os.path.basename(first)[:15])
        else:
            raise NoPython("its first line names no Python")
    _require_preparable(script, command)
    return script


def _read_first_line(path: str) -> tuple[str, ...]:
    """The interpreter, and the one argument that Linux makes of all that follows it. Raises NotForked."""
    try:
        status = _stat_file(path)
        return _first_line(path, status.st_ino, status.st_mtime_ns)
    except OSError as error:
        raise NotForked(f"it cannot be read: {error.strerror}") from None


def _stat_file(path: str) -> os.stat_result:
    """Of a regular file: to open a named pipe would wait for its writer without an end. Raises OSError."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    return status


@lru_cache(maxsize=1024)
def _first_line(path: str, _inode: int, _modified: int) -> tuple[str, ...]:
    line = hashbang.parse(hashbang.read_head(path))
    return line.words if line else ("",)


def _find_program(name: str, command: Command) -> str:
    """As env(1) finds it. Raises NotForked."""
    path = shutil.which(name, path=command.env.get("PATH", os.defpath))
    if path is None or not os.path.isabs(path):
        raise NotForked(f"no {name} is found in PATH")
    return path


def _require_preparable(script: PythonScript, command: Command) -> None:
    """Raises NotForked."""
    if not os.path.isabs(script.path):
        raise NotForked("its path is relative")
    if script.path == command.argv[0] and not os.access(script.path, os.X_OK):
        raise NotForked("it is not executable")
    if any(not _FLAGS.fullmatch(flag) for flag in script.interpreter[1:]):
        raise NotForked(f"its first line has other flags than {_FLAGS.pattern}")
    if not _is_program(script.interpreter[0]):
        raise NotForked(f"{script.interpreter[0]} is no program, but a script that finds one")
    if set_ones := [name for name in _EFFECTS if command.env.get(name)]:
        raise NotForked(f"{set_ones[0]} is set")
    if not all(map(os.path.isabs, command.env.get("PYTHONPATH", "/").split(os.pathsep))):
        raise NotForked("PYTHONPATH has a relative path")


def _is_program(path: str) -> bool:
    """Raises NotForked."""
    try:
        status = _stat_file(path)
        return _begins_like_program(path, status.st_ino, status.st_mtime_ns)
    except OSError as error:
        raise NotForked(f"its interpreter {path} cannot be read: {error.strerror}") from None


@lru_cache(maxsize=64)
def _begins_like_program(path: str, _inode: int, _modified: int) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == _ELF
