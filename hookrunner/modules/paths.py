"""Which modules a path means that somebody has given to a tool."""

from pathlib import Path

from hookrunner.errors import BadInput

_MARKS = ("module.yaml", "Chart.yaml", "templates", "openapi", "hooks", "enabled")


def modules_in(path: Path) -> list[Path]:
    """The modules that a path means: one, or a directory of them. Raises BadInput if there is none."""
    if not path.is_dir():
        raise BadInput(f"{path}: no such directory; name a module, or a directory of modules")
    if _is_module(path):
        return [path]
    found = [one for one in sorted(path.iterdir()) if not one.name.startswith(".") and one.is_dir()]
    modules = [one for one in found if _is_module(one)]
    if not modules:
        raise BadInput(f"{path}: there is no module in it; `hookrunner new module NAME --dir {path}` makes one")
    return modules


def _is_module(path: Path) -> bool:
    return any((path / mark).exists() for mark in _MARKS)
