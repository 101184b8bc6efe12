"""Reads `values.yaml` beside modules and inside them, once, at the start: values, and which modules are on.

Of a module's own file only its section and its own `<key>Enabled` count. A module with an error in its file, or in its
part of the common one, has a problem, and the others go on. A common file that cannot be read leaves all modules
unknown, so the start is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hookrunner import log, redaction, safe_files
from hookrunner.errors import BadModule, StartRefused
from hookrunner.hooks.shapes import suggestion
from hookrunner.model.modules import ENABLED, GLOBAL, Module
from hookrunner.modules.discovery import VALUES_FILE
from hookrunner.values.section import merged
from kubetypes import yaml_values
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

_log = log.get("modules.statics")


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


def read(directories: Sequence[Path], modules: Sequence[Module], strict: bool) -> Statics:
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
        document = _read_document(own)
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
        document = _read_document(path)
    except BadModule as error:
        raise StartRefused(f"{error}; no module can be decided about without it") from None
    if document is None and strict:
        raise StartRefused(_missing(path))
    return document or {}


def _read_document(path: Path) -> dict[str, JSON] | None:
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
