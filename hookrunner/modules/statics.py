"""What the files say about values and about which modules are on: `values.yaml` beside modules and inside them
(addon-operator.md §1.4, §2.1, §2.2). Read once, at the start.

Of a module's own file only its section and its own `<key>Enabled` count. Modules that have something wrong in their
file, or in their part of the common one, are named, and the others go on; a common file that cannot be read says
nothing about anybody, so that the start is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hookrunner import log, redaction, regular_files
from hookrunner.errors import BadModule, StartRefused
from hookrunner.hooks.shapes import suggestion
from hookrunner.model.modules import Module
from hookrunner.model.resources import JSON
from hookrunner.model.values import ENABLED, GLOBAL
from hookrunner.modules.discovery import VALUES_FILE
from hookrunner.values.layers import merged
from kubetypes import yaml_values
from kubetypes.yaml_values import BadDocument

_log = log.get("modules.statics")


@dataclass(frozen=True, slots=True)
class Flag:
    """Whether a file wants a module on, and which."""

    wanted: bool
    file: Path


@dataclass(frozen=True, slots=True)
class Statics:
    """`sections` has one for every module's key and `global`; `enabled` flags by key; `problems` by key, what keeps a
    module from being used."""

    sections: dict[str, dict[str, JSON]] = field(default_factory=dict)
    enabled: dict[str, Flag] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def read(directories: Sequence[Path], modules: Sequence[Module], strict: bool) -> Statics:
    """The static values of these modules. `strict`: each of these places must have its file (§2.2).

    Raises StartRefused.
    """
    commons = {path: _common(path, strict) for path in dict.fromkeys(directories)}
    found = Statics()
    found.sections[GLOBAL] = {}
    for path, common in commons.items():
        section = common.get(GLOBAL)
        if section is not None and not isinstance(section, dict):
            raise StartRefused(f"{path / VALUES_FILE}: `{GLOBAL}` must have keys with values: {{key: value}}")
        found.sections[GLOBAL] = merged(found.sections[GLOBAL], section or {})
        _warn_of_strangers(common, modules, path / VALUES_FILE)
    for module in modules:
        _read_module(found, module, commons, strict)
    return found


def _read_module(found: Statics, module: Module, commons: Mapping[Path, dict[str, JSON]], strict: bool) -> None:
    """Its common section is that of the directory that it is in; of flags the last directory's counts, then its own."""
    found.sections[module.key] = {}
    try:
        _flag(found, module.key, commons)
        _section(found, module.key, commons.get(module.source, {}), module.source / VALUES_FILE)
        if module.problem:
            return
        own = module.directory / VALUES_FILE
        said = _document(own)
        if said is None:
            if strict:
                raise StartRefused(_missing(own))
            return
        _flag(found, module.key, {module.directory: said})
        _section(found, module.key, said, own)
    except BadModule as error:
        _log.error("a module cannot be loaded", module=module.name, error=error)
        found.problems[module.key] = str(error)


def _flag(found: Statics, key: str, files: Mapping[Path, Mapping[str, JSON]]) -> None:
    for directory, said in files.items():
        file, value = directory / VALUES_FILE, said.get(f"{key}{ENABLED}")
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            _log.warn("a flag is a text and is read as true or false; leave the quotes out", file=file, key=key)
            value = value.strip().lower() == "true"
        if isinstance(value, bool):
            found.enabled[key] = Flag(value, file)
        elif value is not None:
            raise BadModule(f"{file}: `{key}{ENABLED}` must be true or false, not {redaction.described(value)}")


def _section(found: Statics, key: str, said: Mapping[str, JSON], file: Path) -> None:
    section = said.get(key)
    if section is None:
        return
    if not isinstance(section, dict):
        raise BadModule(f"{file}: `{key}` must have keys with values, `{{key: value}}`, or be left out")
    found.sections[key] = merged(found.sections[key], section)


def _common(directory: Path, strict: bool) -> dict[str, JSON]:
    path = directory / VALUES_FILE
    try:
        said = _document(path)
    except BadModule as error:
        raise StartRefused(f"{error}; nothing can be said about any module without it") from None
    if said is None and strict:
        raise StartRefused(_missing(path))
    return said or {}


def _document(path: Path) -> dict[str, JSON] | None:
    """The file's keys, as YAML 1.1 (§2.1), None if there is no file. Raises BadModule."""
    try:
        text = regular_files.read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadModule(f"{path}: cannot be read: {error.strerror}") from None
    try:
        said = next(yaml_values.documents(text, yaml_values.YAML_1_1), None)
    except BadDocument as error:
        raise BadModule(f"{path}: {error}") from None
    if said is not None and not isinstance(said, dict):
        raise BadModule(f"{path}: must have keys with values, `module: {{key: value}}`")
    return said or {}


def _missing(path: Path) -> str:
    return f"{path} does not exist; make it, be it empty, or leave out --strict-check-values-mode-enabled"


def _warn_of_strangers(common: Mapping[str, JSON], modules: Sequence[Module], file: Path) -> None:
    """A flag that no module listens to is most often misspelt."""
    keys = {module.key for module in modules}
    for name, value in common.items():
        key = name.removesuffix(ENABLED)
        if key != name and isinstance(value, bool | str) and key not in keys:
            hint = f"there is no such module{suggestion(key, keys)}"
            _log.warn("a flag in the common values has no effect", file=file, flag=name, reason=hint)
