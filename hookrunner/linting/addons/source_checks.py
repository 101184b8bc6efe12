"""Checks of an addon's channels and packages, where they lie in a directory: what instances would be refused for."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hookrunner.errors import PackageError
from hookrunner.linting.modules.module_remarks import ModuleRemark, in_yaml
from hookrunner.model.addons import Addon
from hookrunner.packages.channels import parse_channel
from hookrunner.packages.directory_source import PACKAGES, DirectorySource
from hookrunner.packages.names import is_channel
from hookrunner.packages.package import PACKAGE_FILE, Package
from hookrunner.packages.source_locations import DirectoryLocation, parse_location


@dataclass(frozen=True, slots=True)
class CheckedSource:
    """The packages that can be used, the newest first, and remarks on the others and on channels."""

    packages: tuple[Package, ...] = ()
    remarks: tuple[ModuleRemark, ...] = ()


async def check_source(addon: Addon) -> CheckedSource:
    """Read everything that the addon's directory offers. A source elsewhere is not looked at."""
    try:
        location = parse_location(addon.source, addon.directory)
    except ValueError as error:
        return CheckedSource((), (ModuleRemark("addon.yaml", code="addon-refused", text=f"source: {error}"),))
    if not isinstance(location, DirectoryLocation):
        return CheckedSource()
    source = DirectorySource(location.path)
    try:
        versions = await source.list_versions(addon.component)
    except PackageError as error:
        return CheckedSource((), (ModuleRemark(addon.source, code="package-refused", text=str(error)),))
    packages, remarks = list[Package](), list[ModuleRemark]()
    for version in versions:
        try:
            packages.append(await source.read_package(addon.component, version))
        except PackageError as error:
            remarks.append(ModuleRemark(package_path(addon, version), code="package-refused", text=str(error)))
    remarks += [remark for package in packages for remark in _unknown_keys(addon, package)]
    for name in _channel_names(location.path):
        remarks += [remark async for remark in _check_channel(addon, source, name, versions)]
    return CheckedSource(tuple(packages), tuple(remarks))


def package_path(addon: Addon, version: str, file: str = "") -> str:
    """The path of a package, or of a file in it, in the addon's directory."""
    return str(Path(addon.source) / PACKAGES / addon.component / version / file)


def _channel_names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_file() and is_channel(path.name))


async def _check_channel(
    addon: Addon, source: DirectorySource, name: str, versions: Sequence[str]
) -> AsyncIterator[ModuleRemark]:
    path = str(Path(addon.source) / name)
    try:
        channel = parse_channel(name, await source.read_channel(name))
    except PackageError as error:
        yield ModuleRemark(path, code="channel-refused", text=str(error))
        return
    for unknown in channel.unknown:
        yield ModuleRemark(path, code="key-unknown", text=f"`{unknown}` means nothing here and is ignored")
    for number, entry in enumerate(channel.entries):
        if entry.name in ("", addon.component) and entry.version not in versions:
            place = in_yaml(addon.directory / path, f"/manifests/{number}/version")
            known = f"there are {', '.join(versions)}" if versions else "the source has no package of it"
            text = f"{addon.component} {entry.version} has no package; {known}"
            yield ModuleRemark(path, place, "package-missing", text)


def _unknown_keys(addon: Addon, package: Package) -> Iterator[ModuleRemark]:
    path = package_path(addon, package.version, PACKAGE_FILE)
    for unknown in package.traits.unknown:
        key, _, hint = unknown.partition(";")
        text = f"`{key}` means nothing here and is ignored;{hint or ' docs/packaging-addons.md has all keys'}"
        yield ModuleRemark(path, in_yaml(addon.directory / path, f"/{key}"), "key-unknown", text)
