"""Lints addons: what the start or an instance would be refused for, by their own code, and what loads and then does not
do what was meant. Their hooks are linted as by `hook lint`.
"""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from hookrunner import safe_files
from hookrunner.addons.addon_discovery import AddonCatalog, find_addons
from hookrunner.addons.addon_values import AddonValues, instance_values, read_addon_values
from hookrunner.addons.files.addon_file import ADDON_FILE, parse_document
from hookrunner.addons.files.addon_file_rules import ADDON_SCHEMA
from hookrunner.addons.object_builder import ObjectBuilder
from hookrunner.addons.version_resolver import ResolvedVersion
from hookrunner.errors import BadAddon, BadValues
from hookrunner.linting.addon_checks import (
    CheckedSource,
    check_build,
    check_cycle,
    check_package_texts,
    check_placeholders,
    check_rules,
    check_source,
)
from hookrunner.linting.addon_instances import default_instance
from hookrunner.linting.addon_patches import check_patch_rules
from hookrunner.linting.findings import Finding
from hookrunner.linting.hook_linter import Linted, Linter
from hookrunner.linting.modules.module_linter import to_findings
from hookrunner.linting.modules.module_remarks import ModuleRemark, refused, unknown_keys
from hookrunner.linting.modules.schema_checks import check_schemas
from hookrunner.model.addons import Addon
from hookrunner.values.schemas.schema_files import SPEC
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AddonLinter:
    """Lints addons by their directories; `hooks` lints their hooks, `builder` builds their packages, with files in
    `scratch`."""

    hooks: Linter
    builder: ObjectBuilder
    scratch: Path

    async def lint(self, addons: Sequence[Path]) -> Linted:
        """Look at each addon. Those beside it are read, too, because their names and kinds are taken."""
        findings = set[Finding]()
        for root in dict.fromkeys(path.absolute().parent for path in addons):
            catalog = await asyncio.to_thread(find_addons, [root])
            for path in addons:
                if path.absolute().parent == root:
                    findings.update(to_findings(path, await self._lint_addon(path, catalog)))
        return await self.hooks.lint_below(addons, findings)

    async def _lint_addon(self, path: Path, catalog: AddonCatalog) -> list[ModuleRemark]:
        addon = catalog.named(path.absolute().name)
        if addon is None:
            problems = [rejected.problem for rejected in catalog.rejected if rejected.name == path.absolute().name]
            problems = problems or ["no addon: hidden directories are passed over"]
            return [refused(path, problem, "addon-refused") for problem in problems]
        try:
            values = await asyncio.to_thread(read_addon_values, addon)
        except BadAddon as error:
            return [refused(path, str(error), "addon-refused")]
        source = await check_source(addon)
        remarks = [*_strange_keys(addon), *check_schemas(addon.directory, values.schemas, SPEC), *source.remarks]
        remarks += [*check_rules(addon), *check_cycle(addon, catalog.addons)]
        defaults = _defaults(addon, values)
        remarks += check_placeholders(addon, values.schemas, defaults, source.packages)
        builds = [await check_build(addon, package, self.builder, self.scratch) for package in source.packages]
        remarks += [remark for build in builds for remark in build.remarks]
        objects = [build.objects for build in builds if build.objects is not None]
        if len(objects) == len(source.packages) > 0:
            remarks += check_patch_rules(addon, list(chain.from_iterable(objects)))
        return [*remarks, *await self._check_texts(addon, values, source)]

    async def _check_texts(self, addon: Addon, values: AddonValues, source: CheckedSource) -> list[ModuleRemark]:
        """Remarks on texts that are not carried, one for each field, though all packages may have the same mistake."""
        found = dict[object, ModuleRemark]()
        for package in reversed(source.packages):
            remarks = await check_package_texts(addon, values.schemas, package, self.builder, self.scratch)
            found |= {(remark.path, remark.place): remark for remark in remarks}
        return list(found.values())


def _strange_keys(addon: Addon) -> Iterator[ModuleRemark]:
    """Remarks on unknown keys of addon.yaml; other mistakes in it keep the addon from being offered."""
    path = addon.directory / ADDON_FILE
    document = parse_document(safe_files.read(path), str(path))
    return unknown_keys(path, ADDON_SCHEMA.unknown_keys(document), "addon-yaml.md")


def _defaults(addon: Addon, values: AddonValues) -> JSON:
    """The addon's section of the values without anything set; only what values.yaml has if that is refused."""
    try:
        instance = default_instance(addon)
        return instance_values(addon, instance, ResolvedVersion("")).effective(instance.unit)
    except BadValues:
        return values.static
