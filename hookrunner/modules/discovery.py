"""Finds modules: the directories in the modules directories (see docs/modules.md).

A directory that cannot be used as it is does not stop the others: it is a module with a `problem`, so that it is shown
and what it has installed is not taken for a leftover. Only what identifies a module is read here; its values, hooks and
charts are read elsewhere.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hookrunner import log, safe_files
from hookrunner.errors import BadInput, BadModule
from hookrunner.hooks.discovery import ANY_EXECUTE, compiled_in_module
from hookrunner.model.modules import GLOBAL, Module, camel, kebab
from hookrunner.model.releases import LONGEST_RELEASE, is_release_name
from hookrunner.modules import traits
from hookrunner.safe_files import list_directory
from kubetypes.light_dataclasses import dataclass

VALUES_FILE = "values.yaml"

_NUMBERED = re.compile(r"(?:([0-9]+)-)?(.+)", re.DOTALL)

_MARKS = ("module.yaml", "Chart.yaml", "templates", "openapi", "hooks", "enabled", "crds")
"""A directory with one of these is a module."""

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """What the modules directories hold.

    `modules` are in the order in which they run, weight and then name; no two have one name or one key. `rejected` are
    directories that cannot be any of them, each with the reason in `problem`: a name that no module can have, or one
    that an earlier directory has.
    """

    modules: tuple[Module, ...] = ()
    rejected: tuple[Module, ...] = ()

    @property
    def certain(self) -> bool:
        """False if a rejected directory may be a module that is installed under another name: then nothing counts as
        left over."""
        names = {module.name for module in self.modules}
        return all(module.name in names for module in self.rejected)


def find(directories: Sequence[Path], unnumbered: int) -> Found:
    """The modules in these absolute directories; of two with one name the first counts. `unnumbered` is the weight of a
    module without one. Directories that cannot be modules are logged. Raises StartRefused if one of the modules
    directories is missing or cannot be read."""
    if not directories:
        _log.info("no modules directory, so there are no modules")
    taken: dict[str, Module] = {}
    rejected: list[Module] = []
    for source in dict.fromkeys(directories):
        for module in _modules(source, unnumbered):
            if problem := _unusable(module, taken):
                level = "warn" if module.key in taken else "error"  # an earlier directory replaces modules on purpose
                _log.log(level, "directory cannot be a module", path=module.directory, reason=problem)
                rejected.append(replace(module, problem=problem))
            else:
                taken[module.key] = module
    return Found(tuple(sorted(taken.values(), key=sort_key)), tuple(rejected))


def sort_key(module: Module) -> tuple[int, str]:
    """Sorts modules by weight, then by name."""
    return module.weight, module.name


def _modules(source: Path, unnumbered: int) -> Iterator[Module]:
    """Everything that could be a module, ordered by the names of the directories."""
    for entry in list_directory(source, "modules-dir"):
        if entry.name.startswith(".") or entry.name in (VALUES_FILE, "README.md"):
            continue
        if not entry.name.isprintable():
            _log.error(
                "a directory among modules is skipped: its name has unprintable characters; rename it", path=entry.path
            )
        elif os.path.isdir(entry.path) or (entry.is_symlink() and not os.path.exists(entry.path)):
            yield _module(entry, source, unnumbered)
        else:
            _log.warn("a file among modules is ignored", path=entry.path)


def _module(entry: os.DirEntry[str], source: Path, unnumbered: int) -> Module:
    """The module of one directory. A link has the name and the number, not the directory that it leads to."""
    match = _NUMBERED.fullmatch(entry.name)
    number, name = (match[1], match[2]) if match else (None, entry.name)
    weight = int(number) if number and len(number) < 20 and int(number) <= traits.HIGHEST_WEIGHT else unnumbered
    directory = Path(os.path.realpath(entry.path)) if entry.is_symlink() else Path(entry.path)
    module = Module(name, camel(name), weight, directory, source)
    try:
        return _read_directory(module)
    except (BadModule, OSError) as error:
        problem = _describe(error, directory)
        _log.error("module cannot be loaded", module=name, reason=problem)
        return replace(module, problem=problem)


def _read_directory(module: Module) -> Module:
    """The module with what its directory says. Raises BadModule, OSError."""
    with os.scandir(module.directory) as entries:
        names = {entry.name for entry in entries}
    description = traits.read(module.directory) if traits.MODULE_FILE in names or "Chart.yaml" in names else None
    module = replace(
        module,
        chart="Chart.yaml" in names or safe_files.may_be_directory(module.directory / "templates"),
        script=_script(module.directory / "enabled") if "enabled" in names else None,
        compiled=compiled_in_module(module.directory) if "hooks" in names else (),
    )
    if description:
        name = description.name or module.name
        weight = module.weight if description.weight is None else description.weight
        module = replace(module, name=name, key=camel(name), weight=weight, traits=description.traits)
    if module.chart and not is_release_name(module.name):
        raise BadModule(
            f"'{module.name}' cannot be the name of a release: use lowercase letters, digits, '-' and '.', at most "
            f"{LONGEST_RELEASE} of them; rename the directory"
        )
    return module


def _script(path: Path) -> Path | None:
    """The script, None if it is not executable. Of a link the mode of its target counts, as for the kernel."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) and mode & ANY_EXECUTE:
        return path
    _log.warn(f"the enabled script is ignored: it is not executable; to have it asked: chmod +x {path}")
    return None


def _unusable(module: Module, taken: dict[str, Module]) -> str:
    """Why a directory cannot be a module; empty if it can."""
    if "/" in module.name or not module.name.isprintable():
        return f"{module.name!r} cannot be a name: it has unprintable characters or a slash; change it in module.yaml"
    restored = kebab(module.key)
    if restored != module.name:
        return (
            f"'{module.name}' name should be in kebab-case and be restorable from camelCase: "
            f"consider renaming to '{restored}'"
        )
    if module.key == GLOBAL:
        return f"no module can be called '{GLOBAL}': that is the section of values for all modules; rename it"
    if other := taken.get(module.key):
        return f"there is a module '{module.name}' already, in {other.directory}, and the first one is used; rename one"
    return ""


def _describe(error: Exception, directory: Path) -> str:
    if isinstance(error, FileNotFoundError) and error.filename == str(directory):
        return f"it is a dangling link to {directory}; correct it or remove it"
    return f"{error.filename}: cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)


def modules_in(path: Path) -> list[Path]:
    """The modules that a path given to a tool means: one, or all in a directory of modules that the start would read,
    also those that it would reject. Raises BadInput without a module."""
    if not path.is_dir():
        raise BadInput(f"{path}: no such directory; name a module, or a directory of modules")
    if _is_module(path):
        return [path]
    modules = [child for child in sorted(path.iterdir()) if not child.name.startswith(".") and _may_be_module(child)]
    if not any(map(_is_module, modules)):
        raise BadInput(f"{path}: there is no module in it; `hookrunner new module NAME --dir {path}` makes one")
    return modules


def _is_module(path: Path) -> bool:
    return any((path / mark).exists() for mark in _MARKS)


def _may_be_module(path: Path) -> bool:
    """A dangling link may have been a module, and prevents that leftovers are purged."""
    return path.is_dir() or (path.is_symlink() and not path.exists())
