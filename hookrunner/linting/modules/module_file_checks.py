"""Checks of a module's files that are not schemas, hooks or templates."""

from collections.abc import Collection, Iterator
from pathlib import Path

from hookrunner import safe_files
from hookrunner.charts.chart_files import read_crds
from hookrunner.errors import BadChart, BadModule
from hookrunner.hooks.discovery import ANY_EXECUTE
from hookrunner.hooks.shapes import suggestion
from hookrunner.linting.modules.module_remarks import ModuleRemark, in_yaml, of_file
from hookrunner.model.modules import ENABLED, GLOBAL, Module
from hookrunner.modules import traits
from hookrunner.modules.traits import MODULE_FILE
from kubetypes import yaml_values
from kubetypes.yaml_values import BadDocument

_VALUES = "values.yaml"


def check_files(module: Module, skip_crds: tuple[str, ...]) -> Iterator[ModuleRemark]:
    """Remarks on module.yaml, values.yaml, the enabled script and crds/."""
    yield from _strange_keys(module.directory)
    yield from _strange_values(module)
    enabled = module.directory / "enabled"
    if enabled.is_file() and not enabled.stat().st_mode & ANY_EXECUTE:
        text = f"is not executable, so it is never asked whether the module is on; chmod +x {enabled}"
        yield ModuleRemark("enabled", code="not-executable", text=text)
    try:
        read_crds(module.directory, skip_crds)
    except BadChart as error:
        path, place = of_file(str(error), module.directory)
        yield ModuleRemark(path or "crds", place, "crd-refused", str(error))


def check_requirements(module: Module, names: Collection[str]) -> Iterator[ModuleRemark]:
    """Modules that it requires and that are not beside it."""
    for number, (name, _) in enumerate(module.traits.modules):
        if name not in names:
            place = in_yaml(module.directory / MODULE_FILE, f"/requires/modules/{number}")
            text = f"requires {name}, which is not beside it, so that it is off{suggestion(name, names)}"
            yield ModuleRemark(MODULE_FILE, place, "requires-unknown", text)


def check_flags(source: Path, keys: Collection[str]) -> Iterator[ModuleRemark]:
    """Of the values.yaml beside modules: sections and flags of modules that are not there."""
    known = {GLOBAL, *keys}
    for key in _keys(source / _VALUES):
        if key.removesuffix(ENABLED) not in known:
            text = f"`{key}` is lost: there is no such module{suggestion(key.removesuffix('Enabled'), known)}"
            yield ModuleRemark(_VALUES, in_yaml(source / _VALUES, f"/{key}"), "value-lost", text)


def _strange_keys(directory: Path) -> Iterator[ModuleRemark]:
    """Of module.yaml; what is wrong with others keeps the module from loading."""
    path = directory / MODULE_FILE
    try:
        strange = traits.parse(safe_files.read(path), str(path)).unknown
    except (OSError, BadModule):
        return
    for one in strange:
        key, _, hint = one.partition(";")
        text = f"`{key}` means nothing here and is ignored;{hint or ' docs/module-yaml.md has all keys'}"
        yield ModuleRemark(MODULE_FILE, in_yaml(path, "/" + key.replace(".", "/")), "key-unknown", text)


def _strange_values(module: Module) -> Iterator[ModuleRemark]:
    """Of values.yaml, of which only the module's own section and flag count."""
    path, known = module.directory / _VALUES, (module.key, f"{module.key}{ENABLED}")
    for key in _keys(path):
        if key not in known:
            hint = suggestion(key, known) or f"; put the module's values under `{module.key}`"
            text = f"`{key}` is lost: of this file only {' and '.join(f'`{one}`' for one in known)} count{hint}"
            yield ModuleRemark(_VALUES, in_yaml(path, f"/{key}"), "value-lost", text)


def _keys(path: Path) -> list[str]:
    """The keys of a file of values. What is wrong with the file is reported where it is loaded."""
    try:
        said = next(yaml_values.documents(safe_files.read(path), yaml_values.YAML_1_1), None)
    except (OSError, BadDocument):
        return []
    return list(said) if isinstance(said, dict) else []
