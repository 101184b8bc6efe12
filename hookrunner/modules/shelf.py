"""Everything about modules that is known before the cluster is asked: directories, static values, schemas.

All of it reads many small files: call it in a thread.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hookrunner import log
from hookrunner.errors import BadModule, StartRefused
from hookrunner.hooks.discovery import compiled_global
from hookrunner.model.modules import GLOBAL, Module
from hookrunner.modules import discovery, order, statics
from hookrunner.modules.discovery import Found
from hookrunner.modules.statics import Statics
from hookrunner.settings import ModulesSettings
from hookrunner.values.schemas import schema_files
from hookrunner.values.schemas.schema_files import Schemas

_log = log.get("modules.loading")


@dataclass(frozen=True, slots=True)
class Loaded:
    """Modules, each with its problem if it has one, and what the files say about their values."""

    found: Found
    statics: Statics


@dataclass(frozen=True, slots=True)
class Shelf:
    """The modules with everything that their files say. `schemas` are by key; a module with a bad schema has a problem.
    `compiled` are global hooks that are compiled into addon-operator, as `Module.compiled`."""

    loaded: Loaded
    modules: tuple[Module, ...]
    schemas: Mapping[str, Schemas]
    compiled: tuple[str, ...] = ()


def read(settings: ModulesSettings) -> Shelf:
    """Read all files of modules. Raises StartRefused for a problem that concerns all modules."""
    loaded = load(settings.directories, settings.unnumbered_order, settings.strict)
    by_key = {GLOBAL: _read_global(settings.global_hooks)}
    modules = []
    for module in loaded.found.modules:
        try:
            by_key[module.key] = Schemas() if module.problem else schema_files.load(module.directory, module.key)
        except BadModule as error:
            _log.error("module cannot be used", module=module.name, error=str(error))
            by_key[module.key], module = Schemas(), replace(module, problem=str(error))
        _report_slips(module.name, by_key[module.key])
        modules.append(module)
    top = settings.global_hooks
    return Shelf(loaded, tuple(modules), by_key, compiled_global(top) if top else ())


def load(directories: Iterable[Path], unnumbered: int, strict: bool) -> Loaded:
    """Find the modules and read their static values. `unnumbered` is the weight of a module without one; `strict`: each
    directory must have common values. Raises StartRefused if a directory or its common values cannot be read."""
    paths = tuple(Path(os.path.abspath(path)) for path in directories)
    found = discovery.find(paths, unnumbered)
    values = statics.read(paths, found.modules, strict)
    modules = tuple(_with_problem(module, values.problems.get(module.key, "")) for module in found.modules)
    return Loaded(replace(found, modules=_with_cycles(modules)), values)


def _with_cycles(modules: Sequence[Module]) -> tuple[Module, ...]:
    """The same modules; those that would wait for themselves have a problem."""
    cycles = order.cycles(modules)
    for name, problem in cycles.items():
        _log.error("module cannot be loaded", module=name, error=problem)
    return tuple(_with_problem(module, cycles.get(module.name, "")) for module in modules)


def _with_problem(module: Module, problem: str) -> Module:
    return replace(module, problem="; ".join(filter(None, (module.problem, problem)))) if problem else module


def _read_global(directory: Path | None) -> Schemas:
    try:
        loaded = schema_files.load(directory, GLOBAL) if directory else Schemas()
    except BadModule as error:
        raise StartRefused(f"{error}; every module depends on the global values") from error
    _report_slips(GLOBAL, loaded)
    return loaded


def _report_slips(name: str, loaded: Schemas) -> None:
    for slip in loaded.slips:
        _log.warn("schema has a slip, read as addon-operator reads it", module=name, slip=str(slip))
