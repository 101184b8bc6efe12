"""Everything that the linter has to say about modules: what the start would refuse, by its own code, and what loads and
then does not do what was meant. Their hooks are looked at as `hook lint` does."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hookrunner import safe_files
from hookrunner.charts.renderer import Renderer
from hookrunner.errors import StartRefused
from hookrunner.linting.file_checks import check_writers
from hookrunner.linting.findings import Finding, without_ignored
from hookrunner.linting.hook_linter import Linter
from hookrunner.linting.modules.default_checks import check_defaults
from hookrunner.linting.modules.module_file_checks import check_files, check_flags, check_requirements
from hookrunner.linting.modules.module_remarks import ModuleRemark, of_file
from hookrunner.linting.modules.schema_checks import check_enums, check_schemas
from hookrunner.model.modules import Module
from hookrunner.modules import shelf
from hookrunner.modules.configured import Configured
from hookrunner.modules.offline import Offline, offline
from hookrunner.modules.shelf import Shelf
from hookrunner.settings import ModulesSettings


@dataclass(frozen=True, slots=True)
class LintedModules:
    """How many modules and hooks were looked at, and what is wrong with them, in the order of paths and lines."""

    modules: int
    hooks: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class ModuleLinter:
    """Lints modules by their directories; `hooks` lints their hooks."""

    settings: ModulesSettings
    hooks: Linter
    renderer: Renderer

    async def lint(self, modules: Sequence[Path]) -> LintedModules:
        """Look at each module. Those beside it are read, too: values that all share, names that are taken."""
        findings = set(await asyncio.to_thread(lambda: [one for path in modules for one in check_writers(path)]))
        for source in dict.fromkeys(path.absolute().parent for path in modules):
            own = [path for path in modules if path.absolute().parent == source]
            findings.update(await self._lint_source(source, own))
        hooks = [path / "hooks" for path in modules if (path / "hooks").is_dir()]
        linted = await self.hooks.lint(hooks)
        return LintedModules(len(modules), linted.hooks, tuple(sorted(findings | set(linted.findings))))

    async def _lint_source(self, source: Path, paths: Sequence[Path]) -> list[Finding]:
        try:
            found = await asyncio.to_thread(shelf.read, replace(self.settings, directories=(source,)))
        except StartRefused as error:
            return [Finding(str(paths[0].parent), 1, 1, "module-refused", str(error))]
        values = offline(found, Configured())
        by_module = await asyncio.gather(*(self._lint_module(path, found, values) for path in paths))
        common = _placed(paths[0].parent, check_flags(source, [one.key for one in found.modules]))
        return [*common, *(finding for of_module in by_module for finding in of_module)]

    async def _lint_module(self, path: Path, found: Shelf, values: Offline) -> list[Finding]:
        module, problem = _of_path(path, found)
        if module is None or problem:
            return _placed(path, [_refused(path, problem), *check_enums(path)])
        names = {one.name for one in found.modules}
        remarks = [*check_files(module, self.settings.crd_filters), *check_requirements(module, names)]
        remarks += check_schemas(module.directory, found.schemas[module.key])
        if not any(remark.code == "default-wrong" for remark in remarks):
            remarks += await check_defaults(module, values, self.renderer)
        return _placed(path, remarks)


def _of_path(path: Path, found: Shelf) -> tuple[Module | None, str]:
    """The module in a directory and what is wrong with it."""
    real = path.resolve()
    known = (*found.modules, *found.loaded.found.rejected)
    module = next((one for one in known if one.directory.resolve() == real), None)
    return module, module.problem if module else "no module: hidden directories are passed over"


def _refused(path: Path, problem: str) -> ModuleRemark:
    """At the file that the problem names, if it is one of the module's."""
    return ModuleRemark(*of_file(problem, path), "module-refused", problem)


def _placed(path: Path, remarks: Iterable[ModuleRemark]) -> list[Finding]:
    """With the paths that the user wrote, and without what comments silence."""
    by_file: dict[str, list[Finding]] = {}
    for remark in remarks:
        shown = str(path / remark.path) if remark.path else str(path)
        by_file.setdefault(shown, []).append(Finding(shown, *remark.place, remark.code, remark.text))
    return [one for shown, found in by_file.items() for one in without_ignored(shown, _text(Path(shown)), found)]


def _text(path: Path) -> str:
    try:
        return safe_files.read_text(path, errors="replace")
    except OSError:
        return ""
