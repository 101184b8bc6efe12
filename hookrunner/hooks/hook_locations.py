"""The kind of a hook by the location of its file, for tools that get paths and have no settings.

The start does not ask: it knows which directory is that of modules, and which that of global hooks (`discovery`).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hookrunner.hooks import discovery
from hookrunner.hooks.discovery import HookFile, Skipped
from hookrunner.model.modules import GLOBAL

_ALWAYS = ("module.yaml", "enabled")
"""A directory with one of these beside its `hooks` is a module; with one of the next, if its name has a number."""
_IF_NUMBERED = ("Chart.yaml", "templates", "values.yaml", "openapi")


def survey(directory: Path) -> Sequence[HookFile | Skipped]:
    """As `discovery.survey`, each hook in its place. Raises StartRefused."""
    found = discovery.survey(directory, ("lib", "venv") if _hooks_of(directory / "any") else ("lib",))
    return [placed(one) if isinstance(one, HookFile) else one for one in found]


def placed(file: HookFile) -> HookFile:
    """The file as a hook of the module, or as the global hook, that its place says it is; it keeps its name."""
    if top := _hooks_of(file.path):
        return discovery.in_venv(replace(file, module=re.sub("^[0-9]+-", "", top.parent.name)), top)
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
