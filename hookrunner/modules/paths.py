"""Which modules a path means that somebody has given to a tool."""

from pathlib import Path

from hookrunner.errors import BadInput

_MARKS = ("module.yaml", "Chart.yaml", "templates", "openapi", "hooks", "enabled", "crds")


def modules_in(path: Path) -> list[Path]:
    """The modules that a path means: one, or a directory of them, in which everything counts that the start would take
    for one, what it would refuse too. Raises BadInput if there is none."""
    if not path.is_dir():
        raise BadInput(f"{path}: no such directory; name a module, or a directory of modules")
    if _is_module(path):
        return [path]
    modules = [one for one in sorted(path.iterdir()) if not one.name.startswith(".") and _counts(one)]
    if not any(map(_is_module, modules)):
        raise BadInput(f"{path}: there is no module in it; `hookrunner new module NAME --dir {path}` makes one")
    return modules


def _is_module(path: Path) -> bool:
    return any((path / mark).exists() for mark in _MARKS)


def _counts(path: Path) -> bool:
    """A link that leads nowhere may have been a module, and keeps what is left over from being purged."""
    return path.is_dir() or (path.is_symlink() and not path.exists())
