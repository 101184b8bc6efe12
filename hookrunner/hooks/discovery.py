"""Which files in a directory are hooks, their names, and their order (docs/hooks.md, docs/modules.md).

Only names, modes and Go sources are looked at; `catalog.py` runs hooks with `--config`. A Go source that registers
itself with addon-operator's SDK is compiled into a program that imports its package: there is no file to execute, so
that hook never runs here.

Tools that get paths and have no settings ask where a file lies (`with_location`, `survey_by_location`). The start does
not: it knows which directory is that of modules, and which that of global hooks.

Sources: https://github.com/flant/addon-operator/blob/main/HOOKS.md#go-hooks and the SDK of batch hooks,
https://github.com/deckhouse/module-sdk
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from pathlib import Path
from typing import Literal

from hookrunner import log, safe_files
from hookrunner.errors import BadHookConfig, StartRefused
from hookrunner.model.modules import GLOBAL
from kubetypes.light_dataclasses import dataclass

_NOT_HOOKS = (".yaml", ".json", ".md", ".txt")
_PYTEST = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")
"""What pytest takes for tests."""
ANY_EXECUTE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class HookFile:
    """An executable file. `name` is its path relative to the hooks directory and the key of everything about it.
    `module`, `prefix`, `environ` and `of_addon` are those of `Hook`."""

    name: str
    path: Path
    module: str = ""
    prefix: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    of_addon: bool = False


class Skip(Enum):
    """Why a path below the hooks directory is no hook although it looks like one."""

    NOT_EXECUTABLE = "file is skipped"
    LINK = "symlink to a directory is skipped; put the hooks into a real one"
    LIBRARY = "file has executable permissions and is located in the ignored 'lib' directory"
    COMPILED = "hook is compiled into another program and never runs here; write it as an executable"
    SOURCE = "Go source that is no hook"
    TEST = "file of tests that is no hook"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that is no hook, and why."""

    path: Path
    why: Skip


def find(directory: Path) -> list[HookFile]:
    """All hooks below an absolute directory, ordered by path, bytewise. None is fine. What is skipped is logged.

    Raises as `survey`.
    """
    return _hooks(survey(directory), directory)


def find_global(directory: Path) -> list[HookFile]:
    """All global hooks: those below `hooks` if there is such a directory, else below the directory itself.

    Raises StartRefused if it cannot be read.
    """
    top, prefix = _global_top(directory)
    try:
        files = _hooks(_survey(top, ("lib",)), top)
    except OSError as error:
        mend = "create it (an empty one will do) or set --global-hooks-dir"
        raise StartRefused(f"global hooks directory: '{error.filename}': {error.strerror}; {mend}") from None
    return [replace(file, name=prefix + file.name, module=GLOBAL) for file in files]


def compiled_global(directory: Path) -> tuple[str, ...]:
    """Go sources of global hooks that are compiled into another program, by their paths in the directory."""
    return _compiled(_global_top(directory)[0], directory, ("lib",))


def compiled_in_module(directory: Path) -> tuple[str, ...]:
    """The same of a module, in its directory: `hooks/discover.go`."""
    return _compiled(directory / "hooks", directory, ("lib", "venv"))


def find_in_module(module: str, directory: Path) -> list[HookFile]:
    """All hooks of the module of that name in an absolute directory: none if it has no `hooks`.

    Raises BadHookConfig if that cannot be read.
    """
    top = directory / "hooks"
    if not safe_files.may_exist(top):
        return []
    try:
        entries = _hooks(_survey(top, ("lib", "venv")), top)
    except OSError as error:
        raise BadHookConfig(f"{module}/hooks", [f"'{error.filename}' cannot be read: {error.strerror}"]) from None
    return [in_venv(replace(file, name=f"{module}/hooks/{file.name}", module=module), top) for file in entries]


def survey(directory: Path, ignored: Sequence[str] = ("lib",)) -> list[HookFile | Skipped]:
    """The hooks below an absolute directory, ordered by path, bytewise, and what else looks like one.

    Hidden directories and those of the `ignored` names are left out, symlinks to directories are not followed, but the
    hooks directory itself may be one. A symlink to a file counts as executable, as hooks mounted from a ConfigMap need
    it. Raises StartRefused if the directory, or one below it, cannot be read.
    """
    try:
        return _survey(directory, ignored)
    except FileNotFoundError as error:
        raise StartRefused(
            f"hooks directory: path '{error.filename}' not exist; create it or set --hooks-dir"
        ) from None
    except OSError as error:
        raise StartRefused(f"hooks directory: cannot read '{error.filename}': {error.strerror}") from None


def _survey(directory: Path, ignored: Sequence[str]) -> list[HookFile | Skipped]:
    """Raises OSError."""
    entries = [*_entries(f"{directory}/", f"{directory}/", ignored), *_library(directory / "lib")]
    return sorted(_without_sources_of_programs(entries), key=lambda entry: os.fsencode(entry.path))


def _without_sources_of_programs(entries: Sequence[HookFile | Skipped]) -> Iterator[HookFile | Skipped]:
    """Sources of a batch hook miss nothing where a program is beside them."""
    batch = {
        entry.path
        for entry in entries
        if isinstance(entry, Skipped) and entry.why is Skip.COMPILED and kind_of(entry.path) == "batch"
    }
    built = bool(batch) and any(isinstance(entry, HookFile) and is_program(entry.path) for entry in entries)
    for entry in entries:
        yield Skipped(entry.path, Skip.SOURCE) if built and entry.path in batch else entry


def _global_top(directory: Path) -> tuple[Path, str]:
    """Where global hooks are, and what their names begin with."""
    inner = directory / "hooks"
    return (inner, f"{GLOBAL}/hooks/") if safe_files.may_be_directory(inner) else (directory, f"{GLOBAL}/")


def _compiled(top: Path, directory: Path, ignored: Sequence[str]) -> tuple[str, ...]:
    """Empty if the hooks cannot be read: the code that asks them reports that."""
    try:
        entries = _survey(top, ignored)
    except OSError:
        return ()
    return tuple(
        str(entry.path.relative_to(directory))
        for entry in entries
        if isinstance(entry, Skipped) and entry.why is Skip.COMPILED
    )


def _hooks(entries: Sequence[HookFile | Skipped], directory: Path) -> list[HookFile]:
    for entry in entries:
        if isinstance(entry, Skipped):
            _warn(entry, directory)
    return [entry for entry in entries if isinstance(entry, HookFile)]


def in_venv(file: HookFile, top: Path) -> HookFile:
    """A hook below a module's `hooks`; one in Python is run by the interpreter of the `venv` there, if there is one.

    addon-operator sets PYTHONHOME too. That is right for an environment that has the standard library in it; any other
    finds it by its `pyvenv.cfg`, and with PYTHONHOME not at all (https://docs.python.org/3/library/sys_path_init.html).
    """
    venv = top / "venv"
    python = venv / "bin/python3"
    if file.path.suffix != ".py" or not (python.is_file() and os.access(python, os.X_OK)):
        return file
    complete = any(venv.glob("lib/python3*/os.py"))
    return replace(file, prefix=(str(python),), environ={"PYTHONHOME": str(venv)} if complete else {})


def _entries(directory: str, top: str, ignored: Sequence[str]) -> Iterator[HookFile | Skipped]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(entry.path, top, ignored) if entry.name not in ignored else ()
            elif entry.is_dir():
                yield Skipped(Path(entry.path), Skip.LINK)
            elif not entry.name.endswith(_NOT_HOOKS):
                yield _file(entry, top)


def _file(entry: os.DirEntry[str], top: str) -> HookFile | Skipped:
    path = Path(entry.path)
    if why := why_no_hook(path, entry.stat(follow_symlinks=False).st_mode):
        return Skipped(path, why)
    return HookFile(entry.path.removeprefix(top), path)


def why_no_hook(path: Path, mode: int) -> Skip | None:
    """Why a file of this mode is no hook, None if it is one. A Go source is one only if it begins with `#!`: otherwise
    it cannot be executed, with or without an execute bit. Tests beside a hook have none, and need none."""
    source = kind_of(path) if path.suffix == SUFFIX else "script"
    if source in ("compiled", "batch"):
        return Skip.COMPILED
    if source == "other":
        return Skip.SOURCE
    if mode & ANY_EXECUTE:
        return None
    return Skip.TEST if _PYTEST.fullmatch(path.name) else Skip.NOT_EXECUTABLE


def _library(directory: Path) -> Iterator[Skipped]:
    """Executable files in `lib`, which may have been meant as hooks."""
    for folder, subfolders, names in os.walk(directory):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        for path in (Path(folder, name) for name in names):
            if path.lstat().st_mode & ANY_EXECUTE:
                yield Skipped(path, Skip.LIBRARY)


def _warn(skipped: Skipped, directory: Path) -> None:
    match skipped.why:
        case Skip.NOT_EXECUTABLE:
            hint = f"it is not executable; to make it a hook: chmod +x {skipped.path}"
            _log.warn(skipped.why.value, path=skipped.path, reason=hint)
        case Skip.LINK | Skip.COMPILED:
            _log.warn(skipped.why.value, path=skipped.path)
        case Skip.SOURCE | Skip.TEST:
            _log.debug(skipped.why.value, path=skipped.path)
        case Skip.LIBRARY:
            _log.warn(skipped.why.value, file=str(skipped.path).removeprefix(f"{directory}/lib"))


_ADDON_FILE = "addon.yaml"
_ALWAYS = ("module.yaml", _ADDON_FILE, "enabled")
"""A directory with one of these beside its `hooks` is a module or an addon; with one of the next, if its name has a
number."""
_IF_NUMBERED = ("Chart.yaml", "templates", "values.yaml", "openapi")


def survey_by_location(directory: Path) -> Sequence[HookFile | Skipped]:
    """As `survey`, each hook with the module that its location implies. Raises StartRefused."""
    files = survey(directory, ("lib", "venv") if _hooks_of(directory / "any") else ("lib",))
    return [with_location(file) if isinstance(file, HookFile) else file for file in files]


def with_location(file: HookFile) -> HookFile:
    """The file as a hook of the module, or as the global hook, that its place says it is; it keeps its name."""
    if top := _hooks_of(file.path):
        of_addon = (top.parent / _ADDON_FILE).exists()
        return in_venv(replace(file, module=re.sub("^[0-9]+-", "", top.parent.name), of_addon=of_addon), top)
    is_global = any(directory.name == "global-hooks" for directory in file.path.parents)
    return replace(file, module=GLOBAL) if is_global else file


def _hooks_of(path: Path) -> Path | None:
    """The directory `hooks` of the module in which the path lies."""
    tops = (directory for directory in path.parents if directory.name == "hooks" and _is_module(directory.parent))
    return next(tops, None)


def _is_module(directory: Path) -> bool:
    if directory.parent.name == "modules":
        return True
    marks = _ALWAYS + (_IF_NUMBERED if re.match("[0-9]+-", directory.name) else ())
    return any((directory / mark).exists() for mark in marks)


SUFFIX = ".go"
_TEST = "_test.go"
_ELF = b"\x7fELF"
_LARGEST = 1 << 20
"""Bytes of a source that are looked at."""

_ADDON = re.compile(r'"[^"\s]*(?:/addon-operator/sdk|/go_lib/hooks/[^"\s]+)"')
_BATCH = re.compile(r'"[^"\s]*/module-sdk/(?:pkg/registry|common-hooks/[^"\s]+)"')
_REGISTERS = re.compile(r"\b\w+\.Register\w*(?:\[[^\]]*\])?\s*\(")
_TEXT_OR_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*"|`[^`]*`|\'(?:[^\'\\\n]|\\.)+\')|//[^\n]*|/\*.*?\*/', re.DOTALL)

GoSource = Literal["compiled", "batch", "script", "other"]
"""`compiled` is a hook of addon-operator's SDK, `batch` one of a batch hook's program, `script` begins with `#!`, or
is a program in spite of its name."""


def kind_of(path: Path) -> GoSource:
    """What a Go source is. One that cannot be read is `other`."""
    try:
        with safe_files.open_regular(path) as file:
            raw = file.read(_LARGEST)
    except OSError:
        return "other"
    if raw.startswith(_ELF):
        return "script"
    return "other" if path.name.endswith(_TEST) else _of_text(raw.decode(errors="replace"))


def is_program(path: Path) -> bool:
    """Is this a compiled program of Linux?"""
    try:
        with safe_files.open_regular(path) as file:
            return file.read(4) == _ELF
    except OSError:
        return False


def _of_text(text: str) -> GoSource:
    if text.startswith("#!"):
        return "script"
    code = _TEXT_OR_COMMENT.sub(lambda match: match[1] or " ", text)
    if not _REGISTERS.search(code):
        return "other"
    if _ADDON.search(code):
        return "compiled"
    return "batch" if _BATCH.search(code) else "other"
