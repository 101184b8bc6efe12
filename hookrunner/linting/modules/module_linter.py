"""Lints modules: what the start would refuse, by its own code, and what loads and then does not do what was meant.
Their hooks are linted as by `hook lint`.

Files that are not schemas, hooks or templates are checked here, the others by `schema_checks`.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hookrunner import safe_files
from hookrunner.charts.chart_files import read_crds
from hookrunner.charts.renderer import Renderer
from hookrunner.errors import BadChart, BadModule, StartRefused
from hookrunner.hooks.discovery import ANY_EXECUTE
from hookrunner.linting.findings import Finding, without_ignored
from hookrunner.linting.hook_linter import Linted, Linter
from hookrunner.linting.modules.module_remarks import (
    ModuleRemark,
    in_yaml,
    of_file,
    read_document,
    refused,
    unknown_keys,
)
from hookrunner.linting.modules.schema_checks import check_defaults, check_enums, check_schemas
from hookrunner.model.modules import ENABLED, GLOBAL, Module
from hookrunner.modules import shelf, traits
from hookrunner.modules.offline import Configured, Offline, offline
from hookrunner.modules.shelf import Shelf
from hookrunner.modules.traits import MODULE_FILE
from hookrunner.settings import ModulesSettings
from hookrunner.shapes import suggestion
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.yaml_values import YAML_1_1


@dataclass(frozen=True, slots=True)
class ModuleLinter:
    """Lints modules by their directories; `hooks` lints their hooks."""

    settings: ModulesSettings
    hooks: Linter
    renderer: Renderer

    async def lint(self, modules: Sequence[Path]) -> Linted:
        """Look at each module. Those beside it are read, too: values that all share, names that are taken."""
        findings = set[Finding]()
        for source in dict.fromkeys(path.absolute().parent for path in modules):
            own = [path for path in modules if path.absolute().parent == source]
            findings.update(await self._lint_source(source, own))
        return await self.hooks.lint_below(modules, findings)

    async def _lint_source(self, source: Path, paths: Sequence[Path]) -> list[Finding]:
        try:
            shelf_read = await asyncio.to_thread(shelf.read, replace(self.settings, directories=(source,)))
        except StartRefused as error:
            return [Finding(str(paths[0].parent), 1, 1, "module-refused", str(error))]
        values = offline(shelf_read, Configured())
        by_module = await asyncio.gather(*(self._lint_module(path, shelf_read, values) for path in paths))
        common = to_findings(paths[0].parent, check_flags(source, [module.key for module in shelf_read.modules]))
        return [*common, *(finding for of_module in by_module for finding in of_module)]

    async def _lint_module(self, path: Path, shelf_read: Shelf, values: Offline) -> list[Finding]:
        module, problem = _of_path(path, shelf_read)
        if module is None or problem:
            return to_findings(path, [refused(path, problem, "module-refused"), *check_enums(path)])
        names = {beside.name for beside in shelf_read.modules}
        remarks = [*check_files(module, self.settings.crd_filters), *check_requirements(module, names)]
        remarks += check_schemas(module.directory, shelf_read.schemas[module.key])
        if not any(remark.code == "default-wrong" for remark in remarks):
            definitions = _definitions(module, self.settings.crd_filters)
            remarks += await check_defaults(module, values, self.renderer, definitions)
        return to_findings(path, remarks)


def _of_path(path: Path, shelf_read: Shelf) -> tuple[Module | None, str]:
    """The module in a directory and what is wrong with it."""
    module = shelf_read.find(path)
    return module, module.problem if module else "no module: hidden directories are passed over"


def to_findings(path: Path, remarks: Iterable[ModuleRemark]) -> list[Finding]:
    """Remarks as findings, with the paths that the user wrote, without those that comments silence."""
    by_file: dict[str, list[Finding]] = {}
    for remark in remarks:
        shown = str(path / remark.path) if remark.path else str(path)
        by_file.setdefault(shown, []).append(Finding(shown, *remark.place, remark.code, remark.text))
    return [
        finding
        for shown, findings in by_file.items()
        for finding in without_ignored(shown, _text(Path(shown)), findings)
    ]


def _text(path: Path) -> str:
    try:
        return safe_files.read_text(path, errors="replace")
    except OSError:
        return ""


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
        path, position = of_file(str(error), module.directory)
        yield ModuleRemark(path or "crds", position, "crd-refused", str(error))


def _definitions(module: Module, skip_crds: tuple[str, ...]) -> list[JSON]:
    """Those in crds/; none if they cannot be read, which `check_files` reports."""
    try:
        return read_crds(module.directory, skip_crds)
    except BadChart:
        return []


def check_requirements(module: Module, names: Collection[str]) -> Iterator[ModuleRemark]:
    """Remarks on required modules that are not beside it."""
    for number, (name, _) in enumerate(module.traits.modules):
        if name not in names:
            position = in_yaml(module.directory / MODULE_FILE, f"/requires/modules/{number}")
            text = f"requires {name}, which is not beside it, so that it is off{suggestion(name, names)}"
            yield ModuleRemark(MODULE_FILE, position, "requires-unknown", text)


def check_flags(source: Path, keys: Collection[str]) -> Iterator[ModuleRemark]:
    """Remarks on the values.yaml beside modules: sections and flags of unknown modules."""
    known = {GLOBAL, *keys}
    for key in _top_keys(source / _VALUES):
        if key.removesuffix(ENABLED) not in known:
            text = f"`{key}` is lost: there is no such module{suggestion(key.removesuffix('Enabled'), known)}"
            yield ModuleRemark(_VALUES, in_yaml(source / _VALUES, f"/{key}"), "value-lost", text)


def _strange_keys(directory: Path) -> Iterator[ModuleRemark]:
    """Remarks on unknown keys of module.yaml; other mistakes in it keep the module from loading."""
    path = directory / MODULE_FILE
    try:
        strange = traits.parse(safe_files.read(path), str(path)).unknown
    except (OSError, BadModule):
        return
    yield from unknown_keys(path, strange, "module-yaml.md")


def _strange_values(module: Module) -> Iterator[ModuleRemark]:
    """Remarks on values.yaml, of which only the module's own section and flag count."""
    path, known = module.directory / _VALUES, (module.key, f"{module.key}{ENABLED}")
    for key in _top_keys(path):
        if key not in known:
            hint = suggestion(key, known) or f"; put the module's values under `{module.key}`"
            text = f"`{key}` is lost: of this file only {' and '.join(f'`{name}`' for name in known)} count{hint}"
            yield ModuleRemark(_VALUES, in_yaml(path, f"/{key}"), "value-lost", text)


def _top_keys(path: Path) -> list[str]:
    """The keys of a file of values."""
    document = read_document(path, YAML_1_1)
    return list(document) if isinstance(document, dict) else []
