"""Which modules there are: the directories in the modules directories (addon-operator.md §1.1, §1.2).

A directory that cannot be used as it is does not stop the others: it is a module with a `problem`, so that whoever
asks for modules sees it and nobody takes what it has installed for something that is to go. Only what is needed to
know of a module is looked at here; its values, hooks and charts are read elsewhere.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hookrunner import log
from hookrunner.errors import BadModule, StartRefused
from hookrunner.hooks.discovery import ANY_EXECUTE, compiled_in_module
from hookrunner.model.casing import camel, kebab
from hookrunner.model.modules import Module
from hookrunner.model.values import GLOBAL
from hookrunner.modules import traits

VALUES_FILE = "values.yaml"

_NUMBERED = re.compile(r"(?:([0-9]+)-)?(.+)", re.DOTALL)
_RELEASE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LONGEST_RELEASE = 53
"""What Helm takes: https://helm.sh/docs/helm/helm_install (release names are DNS-1123, and leave room for suffixes)."""

_log = log.get("modules.discovery")


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
        """False if a rejected directory may be a module that is installed under some other name: then nothing may be
        taken for left over."""
        names = {module.name for module in self.modules}
        return all(module.name in names for module in self.rejected)


def find(directories: Sequence[Path], unnumbered: int) -> Found:
    """The modules in these absolute directories, of which the first counts where two have one name. `unnumbered` is the
    weight of a module that nobody gave one. Things that are no modules are logged.

    Raises StartRefused if one of the directories is not there or cannot be read.
    """
    if not directories:
        _log.warn("no directory of modules is given, so there are none; set --modules-dir if there should be")
    taken: dict[str, Module] = {}
    rejected: list[Module] = []
    for source in dict.fromkeys(directories):
        for module in _modules(source, unnumbered):
            if problem := _unusable(module, taken):
                level = "warn" if module.key in taken else "error"  # to put others in front is how modules are replaced
                _log.log(level, "a directory is no module", path=module.directory, error=problem)
                rejected.append(replace(module, problem=problem))
            else:
                taken[module.key] = module
    return Found(tuple(sorted(taken.values(), key=place)), tuple(rejected))


def place(module: Module) -> tuple[int, str]:
    """Where a module stands among others."""
    return module.weight, module.name


def _modules(source: Path, unnumbered: int) -> Iterator[Module]:
    """All that could be modules, ordered by the names of their directories."""
    try:
        with os.scandir(source) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:
        raise StartRefused(f"path '{source}' does not exist; create it or set --modules-dir") from None
    except NotADirectoryError:
        raise StartRefused(f"path '{source}' is no directory; set --modules-dir to where modules are") from None
    except OSError as error:
        raise StartRefused(f"path '{source}' cannot be read: {error.strerror}; modules are looked for there") from None
    for entry in found:
        if entry.name.startswith(".") or entry.name in (VALUES_FILE, "README.md"):
            continue
        if not entry.name.isprintable():
            _log.error("a name among modules cannot be written, so that it is passed over; rename it", path=entry.path)
        elif os.path.isdir(entry.path) or (entry.is_symlink() and not os.path.exists(entry.path)):
            yield _module(entry, source, unnumbered)
        else:
            _log.warn("a file among modules is ignored", path=entry.path)


def _module(entry: os.DirEntry[str], source: Path, unnumbered: int) -> Module:
    """The module of one directory. A link gives it its name and its number, whatever it leads to is called."""
    match = _NUMBERED.fullmatch(entry.name)
    number, name = (match[1], match[2]) if match else (None, entry.name)
    weight = int(number) if number and len(number) < 20 and int(number) <= traits.HIGHEST_WEIGHT else unnumbered
    directory = Path(os.path.realpath(entry.path)) if entry.is_symlink() else Path(entry.path)
    module = Module(name, camel(name), weight, directory, source)
    try:
        return _looked_into(module)
    except (BadModule, OSError) as error:
        problem = _words(error, directory)
        _log.error("a module cannot be loaded", module=name, error=problem)
        return replace(module, problem=problem)


def _looked_into(module: Module) -> Module:
    """The module with what its directory says. Raises BadModule and OSError."""
    with os.scandir(module.directory) as entries:
        names = {entry.name for entry in entries}
    said = traits.read(module.directory) if traits.MODULE_FILE in names or "Chart.yaml" in names else None
    module = replace(
        module,
        chart="Chart.yaml" in names or (module.directory / "templates").is_dir(),
        script=_script(module.directory / "enabled") if "enabled" in names else None,
        compiled=compiled_in_module(module.directory) if "hooks" in names else (),
    )
    if said:
        name = said.name or module.name
        weight = module.weight if said.weight is None else said.weight
        module = replace(module, name=name, key=camel(name), weight=weight, traits=said.traits)
    if module.chart and (len(module.name) > LONGEST_RELEASE or not _RELEASE.fullmatch(module.name)):
        raise BadModule(
            f"'{module.name}' cannot be the name of a release: small letters, digits, '-' and '.', at most "
            f"{LONGEST_RELEASE} of them; rename the directory"
        )
    return module


def _script(path: Path) -> Path | None:
    """Where it leads to says whether it may be executed (§11.1.26), as it does to the kernel."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) and mode & ANY_EXECUTE:
        return path
    _log.warn(f"the enabled script is not asked, for it is not executable; to have it asked: chmod +x {path}")
    return None


def _unusable(module: Module, taken: dict[str, Module]) -> str:
    """Why a directory can be no module, empty if it can."""
    if "/" in module.name or not module.name.isprintable():
        return f"{module.name!r} can be no name: it has characters that cannot stand in one; change it in module.yaml"
    restored = kebab(module.key)
    if restored != module.name:
        return (
            f"'{module.name}' name should be in kebab-case and be restorable from camelCase: "
            f"consider renaming to '{restored}'"
        )
    if module.key == GLOBAL:
        return f"no module can be called '{GLOBAL}', for that is the section of the values that all share; rename it"
    if other := taken.get(module.key):
        return f"there is a module '{module.name}' already, in {other.directory}, and the first counts; rename one"
    return ""


def _words(error: Exception, directory: Path) -> str:
    if isinstance(error, FileNotFoundError) and error.filename == str(directory):
        return f"it is a link that leads nowhere, to {directory}; mend it or remove it"
    return f"{error.filename}: cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
