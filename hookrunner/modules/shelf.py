"""Everything about modules that is known before the cluster is asked: directories, static values, schemas."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hookrunner import log
from hookrunner.errors import BadModule, StartRefused
from hookrunner.hooks.discovery import compiled_global
from hookrunner.model.modules import Module
from hookrunner.model.values import GLOBAL
from hookrunner.modules.loading import Loaded, load
from hookrunner.settings import ModulesSettings
from hookrunner.values import schemas
from hookrunner.values.schemas import Schemas

_log = log.get("modules.loading")


@dataclass(frozen=True, slots=True)
class Shelf:
    """The modules with everything that their files say. `schemas` are by key; who has bad ones has a problem.
    `compiled` are global hooks that are compiled into addon-operator, as `Module.compiled`."""

    loaded: Loaded
    modules: tuple[Module, ...]
    schemas: Mapping[str, Schemas]
    compiled: tuple[str, ...] = ()


def read(settings: ModulesSettings) -> Shelf:
    """Read it all: many small files, so call it in a thread. Raises StartRefused for what concerns all modules."""
    loaded = load(settings.directories, settings.unnumbered_order, settings.strict)
    found = {GLOBAL: _global(settings.global_hooks)}
    modules = []
    for module in loaded.found.modules:
        try:
            found[module.key] = Schemas() if module.problem else schemas.load(module.directory, module.key)
        except BadModule as error:
            _log.error("A module cannot be used.", module=module.name, error=str(error))
            found[module.key], module = Schemas(), replace(module, problem=str(error))
        _tell(module.name, found[module.key])
        modules.append(module)
    top = settings.global_hooks
    return Shelf(loaded, tuple(modules), found, compiled_global(top) if top else ())


def _global(directory: Path | None) -> Schemas:
    try:
        loaded = schemas.load(directory, GLOBAL) if directory else Schemas()
    except BadModule as error:
        raise StartRefused(f"{error}; every module depends on the global values") from error
    _tell(GLOBAL, loaded)
    return loaded


def _tell(name: str, loaded: Schemas) -> None:
    for slip in loaded.slips:
        _log.warn("A schema has a slip; it is read as addon-operator reads it.", module=name, slip=str(slip))
