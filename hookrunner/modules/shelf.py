"""Everything about modules that is known before the cluster is asked: directories, static values, schemas.

All of it reads many small files: call it in a thread.

Static values, and which modules are on, come from `values.yaml` beside modules and inside them. Of a module's own file
only its section and its own `<key>Enabled` count. A module with an error in its file, or in its part of the common one,
has a problem, and the others go on. A common file that cannot be read leaves all modules unknown, so the start is
refused.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from hookrunner import log, redaction, safe_files
from hookrunner.errors import BadModule, StartRefused
from hookrunner.hooks.discovery import compiled_global
from hookrunner.model.modules import ENABLED, GLOBAL, Module
from hookrunner.modules import discovery, order
from hookrunner.modules.discovery import VALUES_FILE, Found
from hookrunner.settings import ModulesSettings
from hookrunner.shapes import suggestion
from hookrunner.values.schemas import schema_files
from hookrunner.values.schemas.schema_files import Schemas
from hookrunner.values.section import merged
from kubetypes import yaml_values
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.yaml_values import BadDocument

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class StaticFlag:
    """A flag in a file: whether the module should be on, and which file says so."""

    wanted: bool
    file: Path


@dataclass(frozen=True, slots=True)
class Statics:
    """`sections` has one for every module's key and `global`; `enabled` are flags by key; `problems`, by key, prevent
    that a module is used."""

    sections: dict[str, dict[str, JSON]] = field(default_factory=dict)
    enabled: dict[str, StaticFlag] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


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

    def find(self, directory: Path) -> Module | None:
        """The module in a directory, also one that cannot be loaded."""
        real, known = directory.resolve(), (*self.modules, *self.loaded.found.rejected)
        return next((module for module in known if module.directory.resolve() == real), None)


def read(settings: ModulesSettings) -> Shelf:
    """Read all files of modules. Raises StartRefused for a problem that concerns all modules."""
    loaded = load(settings.directories, settings.unnumbered_order, settings.strict)
    by_key = {GLOBAL: _read_global(settings.global_hooks)}
    modules = []
    for module in loaded.found.modules:
        try:
            by_key[module.key] = Schemas() if module.problem else schema_files.load(module.directory, module.key)
        except BadModule as error:
            _log.error("module cannot be used", module=module.name, error=error)
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
    values = read_statics(paths, found.modules, strict)
    modules = tuple(_with_problem(module, values.problems.get(module.key, "")) for module in found.modules)
    return Loaded(replace(found, modules=_with_cycles(modules)), values)


def _with_cycles(modules: Sequence[Module]) -> tuple[Module, ...]:
    """The same modules; those that would wait for themselves have a problem."""
    cycles = order.cycles(modules)
    for name, problem in cycles.items():
        _log.error("module cannot be loaded", module=name, reason=problem)
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


def read_statics(directories: Sequence[Path], modules: Sequence[Module], strict: bool) -> Statics:
    """The static values of these modules. `strict`: each modules directory and each module must have a `values.yaml`.
    Raises StartRefused."""
    commons = {path: _read_common(path, strict) for path in dict.fromkeys(directories)}
    values = Statics()
    values.sections[GLOBAL] = {}
    for path, common in commons.items():
        section = common.get(GLOBAL)
        if section is not None and not isinstance(section, dict):
            raise StartRefused(f"{path / VALUES_FILE}: `{GLOBAL}` must have keys with values: {{key: value}}")
        values.sections[GLOBAL] = merged(values.sections[GLOBAL], section or {})
        _warn_of_unknown_flags(common, modules, path / VALUES_FILE)
    for module in modules:
        _read_module(values, module, commons, strict)
    return values


def _read_module(values: Statics, module: Module, commons: Mapping[Path, dict[str, JSON]], strict: bool) -> None:
    """Its common section is that of its own modules directory. Of flags the last directory's counts, then its own."""
    values.sections[module.key] = {}
    try:
        _take_flag(values, module.key, commons)
        _take_section(values, module.key, commons.get(module.source, {}), module.source / VALUES_FILE)
        if module.problem:
            return
        own = module.directory / VALUES_FILE
        document = read_values_file(own)
        if document is None:
            if strict:
                raise StartRefused(_missing(own))
            return
        _take_flag(values, module.key, {module.directory: document})
        _take_section(values, module.key, document, own)
    except BadModule as error:
        _log.error("module cannot be loaded", module=module.name, error=error)
        values.problems[module.key] = str(error)


def _take_flag(values: Statics, key: str, files: Mapping[Path, Mapping[str, JSON]]) -> None:
    for directory, document in files.items():
        file, value = directory / VALUES_FILE, document.get(f"{key}{ENABLED}")
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            _log.warn("flag is a text, read as true or false; remove the quotes", file=file, key=key)
            value = value.strip().lower() == "true"
        if isinstance(value, bool):
            values.enabled[key] = StaticFlag(value, file)
        elif value is not None:
            raise BadModule(f"{file}: `{key}{ENABLED}` must be true or false, not {redaction.described(value)}")


def _take_section(values: Statics, key: str, document: Mapping[str, JSON], file: Path) -> None:
    section = document.get(key)
    if section is None:
        return
    if not isinstance(section, dict):
        raise BadModule(f"{file}: `{key}` must have keys with values, `{{key: value}}`, or be left out")
    values.sections[key] = merged(values.sections[key], section)


def _read_common(directory: Path, strict: bool) -> dict[str, JSON]:
    path = directory / VALUES_FILE
    try:
        document = read_values_file(path)
    except BadModule as error:
        raise StartRefused(f"{error}; no module can be decided about without it") from None
    if document is None and strict:
        raise StartRefused(_missing(path))
    return document or {}


def read_values_file(path: Path) -> dict[str, JSON] | None:
    """The file's keys, as YAML 1.1, None if there is no file. Raises BadModule."""
    try:
        text = safe_files.read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadModule(f"{path}: cannot be read: {error.strerror}") from None
    try:
        document = next(yaml_values.documents(text, yaml_values.YAML_1_1), None)
    except BadDocument as error:
        raise BadModule(f"{path}: {error}") from None
    if document is not None and not isinstance(document, dict):
        raise BadModule(f"{path}: must have keys with values, `module: {{key: value}}`")
    return document or {}


def _missing(path: Path) -> str:
    return f"{path} does not exist; create it, an empty one will do, or remove --strict-check-values-mode-enabled"


def _warn_of_unknown_flags(common: Mapping[str, JSON], modules: Sequence[Module], file: Path) -> None:
    """A flag without a module is most often misspelt."""
    keys = {module.key for module in modules}
    for name, value in common.items():
        key = name.removesuffix(ENABLED)
        if key != name and isinstance(value, bool | str) and key not in keys:
            hint = f"there is no such module{suggestion(key, keys)}"
            _log.warn("a flag in the common values has no effect", file=file, flag=name, reason=hint)
