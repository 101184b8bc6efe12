"""Checks of an addon's channels and packages, where they lie in a directory, and of what the packages lead to:
placeholders, and the objects of an instance with default values.

Hooks do not run here, so a package that needs what they find out is not built, and that is no mistake.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hookrunner.addons.addon_crd import read_definitions, read_object_schema, read_spec_schema
from hookrunner.addons.build_request import BuildRequest, BuildTerms
from hookrunner.addons.files.addon_file import ADDON_FILE
from hookrunner.addons.files.definition_rules import broken_rules, unchecked_rules
from hookrunner.addons.gates.gates import cyclic_addons
from hookrunner.addons.instance_build import ChosenPackage, PreparedBuild
from hookrunner.addons.object_builder import BuiltRelease, ObjectBuilder
from hookrunner.addons.version_resolver import ResolvedVersion
from hookrunner.charts.chart_files import CRDS
from hookrunner.errors import BadChart, BadInput, BadPatch, BadValues, MissingValue, PackageError, RenderFailed
from hookrunner.linting import served_kinds
from hookrunner.linting.addon_instances import (
    default_instance,
    example_instance,
    named_like,
    sample_instances,
    shared_objects,
)
from hookrunner.linting.modules.module_remarks import START, ModuleRemark, in_yaml, unknown_keys
from hookrunner.linting.modules.text_checks import TextSubject, check_texts
from hookrunner.linting.text_fields import SectionRules
from hookrunner.manifests import object_fields
from hookrunner.manifests.placeholders import look_up
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.status import some
from hookrunner.modules.offline import stock_capabilities
from hookrunner.packages.channels import contradicted_entries, parse_channel
from hookrunner.packages.directory_source import PACKAGES, DirectorySource, list_channels
from hookrunner.packages.package import PACKAGE_FILE, Package
from hookrunner.packages.package_cache import unpack_package
from hookrunner.packages.source_locations import DirectoryLocation, parse_location
from hookrunner.values import pointers
from hookrunner.values.schemas.node import Node
from hookrunner.values.schemas.schema_files import SPEC, Schemas
from hookrunner.values.section import READ_ONLY
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.openapi.custom_kinds import custom_kinds
from kubetypes.yaml_values import BadDocument

_NOT_BUILT = "the package was not built here, also not with example.yaml or tests/*.in.yaml"
_TWO_NAMES = ("first", "second")


@dataclass(frozen=True, slots=True)
class CheckedSource:
    """The packages that can be used, the newest first, and remarks on the others and on channels."""

    packages: tuple[Package, ...] = ()
    remarks: tuple[ModuleRemark, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedBuild:
    """Remarks on what a package leads to, and its objects; None if it could not be built."""

    remarks: tuple[ModuleRemark, ...]
    objects: Sequence[JSON] | None = None


async def check_source(addon: Addon) -> CheckedSource:
    """Read everything that the addon's directory offers. A source elsewhere is not looked at."""
    try:
        location = parse_location(addon.source, addon.directory)
    except ValueError as error:
        return CheckedSource((), (ModuleRemark(ADDON_FILE, code="addon-refused", text=f"source: {error}"),))
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
    digests = dict.fromkeys(versions, "") | {package.version: package.digest for package in packages}
    for name in sorted({*list_channels(location.path), addon.defaults.channel}):
        remarks += [remark async for remark in _check_channel(addon, source, name, digests)]
    return CheckedSource(tuple(packages), tuple(remarks))


def package_path(addon: Addon, version: str, file: str = "") -> str:
    """The path of a package, or of a file in it, in the addon's directory."""
    return str(Path(addon.source) / PACKAGES / addon.component / version / file)


async def _check_channel(
    addon: Addon, source: DirectorySource, name: str, digests: Mapping[str, str]
) -> AsyncIterator[ModuleRemark]:
    """`digests` are those of the packages by version, empty for one that cannot be used."""
    path = str(Path(addon.source) / name)
    try:
        channel = parse_channel(name, await source.read_channel(name))
    except PackageError as error:
        yield ModuleRemark(path, code="channel-refused", text=str(error))
        return
    for unknown in channel.unknown:
        yield ModuleRemark(path, code="key-unknown", text=f"`{unknown}` means nothing here and is ignored")
    for number, entry in enumerate(channel.entries):
        if entry.name in ("", addon.component) and entry.version not in digests:
            place = in_yaml(addon.directory / path, f"/manifests/{number}/version")
            known = f"there are {', '.join(digests)}" if digests else "the source has no package of it"
            text = f"{addon.component} {entry.version} has no package; {known}"
            yield ModuleRemark(path, place, "package-missing", text)
    for number, entry in contradicted_entries(channel, addon.component, digests):
        place = in_yaml(addon.directory / path, f"/manifests/{number}/digest")
        text = f"{addon.component} {entry.version} has the digest {digests[entry.version]}, not this one"
        yield ModuleRemark(path, place, "channel-refused", text)


def _unknown_keys(addon: Addon, package: Package) -> Iterator[ModuleRemark]:
    path = package_path(addon, package.version, PACKAGE_FILE)
    for remark in unknown_keys(addon.directory / path, package.traits.unknown, "packaging-addons.md"):
        yield replace(remark, path=path)


def check_placeholders(
    addon: Addon, schemas: Schemas, defaults: JSON, packages: Sequence[Package]
) -> Iterator[ModuleRemark]:
    """Remarks on placeholders that no package has, and on those whose values neither defaults nor schemas know.
    `defaults` are the addon's section of the values without anything set."""
    texts = [data for package in packages if package.form != "chart" for data in package.files.values()]
    for placeholder in addon.text:
        place = in_yaml(addon.directory / ADDON_FILE, pointers.text(("text", placeholder.text)))
        if not any(placeholder.text.encode() in data for data in texts):
            text = f"the placeholder {placeholder.text} stands in no file of any package"
            yield ModuleRemark(ADDON_FILE, place, "placeholder-unused", text)
        path = placeholder.value.split(".")
        if look_up(defaults, placeholder.value) is None and not _is_defined(schemas, path):
            text = f"the placeholder {placeholder.text} has no value: nothing defines {placeholder.value}"
            mend = f"describe it in openapi/spec.yaml or openapi/values.yaml, or set {addon.key} in values.yaml"
            yield ModuleRemark(ADDON_FILE, place, "placeholder-unset", f"{text}; {mend}")


def _is_defined(schemas: Schemas, path: Sequence[str]) -> bool:
    """Does a schema describe the value, or allow any where it stands?"""
    roots = [schema.node for schema in (schemas.config, schemas.values) if schema]
    return not roots or any(_describes(node, path) for node in roots)


def _describes(node: Node, path: Sequence[str]) -> bool:
    for key in path:
        inner = node.properties.get(key)
        if inner is None:
            return node.additional not in (None, False)
        node = inner
    return True


def check_rules(addon: Addon) -> Iterator[ModuleRemark]:
    """Remarks on rules in CEL of the author's that are not checked without an API server."""
    is_generated = addon.object.crd == "generated"
    schema = read_spec_schema(addon) if is_generated else read_object_schema(addon)
    for unchecked in unchecked_rules(schema):
        place = in_yaml(addon.directory / SPEC, pointers.text(unchecked.path)) if is_generated else START
        text = f"the rule `{unchecked.rule.strip()}` is not checked here: {unchecked.reason}"
        yield ModuleRemark(SPEC if is_generated else CRDS, place, "rule-unchecked", text)


def check_cycle(addon: Addon, addons: Iterable[Addon]) -> Iterator[ModuleRemark]:
    """A remark if the addon requires itself, also through others that lie beside it."""
    if addon.name in cyclic_addons({other.name: other for other in addons}):
        place = in_yaml(addon.directory / ADDON_FILE, "/requires/addons")
        text = "the addon requires itself, maybe through others, so no instance will ever run; remove one of them"
        yield ModuleRemark(ADDON_FILE, place, "requires-cycle", text)


async def check_build(addon: Addon, package: Package, builder: ObjectBuilder, scratch: Path) -> CheckedBuild:
    """Build the package for the first sample instance whose values suffice, and look at its objects."""
    path, lacking = package_path(addon, package.version), ""
    directory = unpack_package(package, scratch)
    for instance in sample_instances(addon):
        try:
            built = await builder.build(_request(addon, package, directory, instance))
        except (BadValues, MissingValue) as error:
            lacking = lacking or f"{error}: {_NOT_BUILT}"
            continue
        except RenderFailed as error:
            remark = ModuleRemark(path, code="render-failed", text=f"cannot be built with default values: {error}")
        except (BadChart, BadPatch) as error:
            remark = ModuleRemark(path, code="chart-refused", text=str(error))
        else:
            remarks = (
                *_check_objects(addon, package, built),
                *_check_application(path, built),
                *await _check_names(addon, package, builder, _request(addon, package, directory, instance)),
            )
            return CheckedBuild(remarks, built.rendered.objects)
        return CheckedBuild((remark,))
    return CheckedBuild((ModuleRemark(path, code="needs-values", text=lacking),))


async def _check_names(
    addon: Addon, package: Package, builder: ObjectBuilder, request: BuildRequest
) -> Iterator[ModuleRemark]:
    """A remark if two instances in one namespace would have the same objects."""
    if addon.instances == "one":
        return iter(())
    directory, lists = request.directory, list[Sequence[JSON]]()
    for name in _TWO_NAMES:
        asked = _request(addon, package, directory, named_like(addon, request.instance, name))
        lists.append((await builder.build(asked)).rendered.objects)
    shared = shared_objects(*lists)
    text = (
        f"two instances would have the same objects: {some([*map(str, shared)])}; put `.addon.name` into their names,"
        " or write `instances: one` in addon.yaml"
    )
    return iter([ModuleRemark(package_path(addon, package.version), code="name-constant", text=text)] * bool(shared))


def _check_objects(addon: Addon, package: Package, built: BuiltRelease) -> Iterator[ModuleRemark]:
    """A remark for each kind that Kubernetes does not serve, and for each field that Kubernetes, or a definition of the
    addon or the package, does not know."""
    objects = [*built.rendered.objects, *(hook.obj for hook in built.rendered.hooks)]
    for api_version, kind in dict.fromkeys((str(obj["apiVersion"]), str(obj["kind"])) for obj in objects):
        if unserved := served_kinds.problem(api_version, kind, exact=True):
            path = _path_with(addon, package, f"kind: {kind}", f"apiVersion: {api_version}")
            yield ModuleRemark(path, code=served_kinds.CODE, text=unserved)
    custom = custom_kinds([*read_definitions(addon), *objects])
    for unknown, text in (problem for obj in objects for problem in object_fields.problems(obj, custom)):
        path = _path_with(addon, package, f"{unknown.name}:")
        yield ModuleRemark(path, code=object_fields.CODE, text=text)


def _path_with(addon: Addon, package: Package, *words: str) -> str:
    """The path of the first file of a package that has all of these words, that of the package without such a file."""
    files = (path for path, data in package.files.items() if all(word.encode() in data for word in words))
    return package_path(addon, package.version, next(files, ""))


async def check_package_texts(
    addon: Addon, schemas: Schemas, package: Package, builder: ObjectBuilder, scratch: Path
) -> list[ModuleRemark]:
    """Remarks on fields whose texts are not carried as texts into the objects of a package. An instance that sets
    nothing, or else that of example.yaml, has the other values."""
    directory = unpack_package(package, scratch)
    try:
        request = _request(addon, package, directory)
    except BadValues:
        try:
            request = _request(addon, package, directory, example_instance(addon))
        except (BadValues, BadInput, BadDocument, OSError):
            return []

    async def render(section: JSON) -> list[JSON]:
        values = {**request.values, addon.key: section}
        rendered = (await builder.build(replace(request, values=values))).rendered
        return [*rendered.objects, *(hook.obj for hook in rendered.hooks)]

    rules = _rules(addon, schemas, request)
    section, is_chart = request.values[addon.key], package.form == "chart"
    return await check_texts(TextSubject(addon.directory, rules, section, render, is_chart))


def _rules(addon: Addon, schemas: Schemas, request: BuildRequest) -> list[SectionRules]:
    """The schemas of what users set and of what hooks set, and the kind's rules in CEL."""
    rules, own = list[SectionRules](), dict(request.instance.own)
    if schemas.config:
        crd, document = read_object_schema(addon), request.instance.document

        def broken(spec: JSON) -> Iterator[str]:
            return broken_rules(crd, {**document, "spec": {**(document.get("spec") or {}), **spec}})

        root = schemas.config.node
        rules += [SectionRules(root, schemas.config.problems, own), SectionRules(root, broken, own)]
    if schemas.values:
        properties = schemas.values.node.properties
        root = replace(schemas.values.node, properties={key: properties[key] for key in properties if key != READ_ONLY})
        rules.append(SectionRules(root, schemas.values.problems, request.values[addon.key]))
    return rules


def _request(addon: Addon, package: Package, directory: Path, instance: Instance | None = None) -> BuildRequest:
    """The request of a first install. Whether the package fits this cluster and this hookrunner is not asked: it may be
    meant for others."""
    chosen = ChosenPackage(ResolvedVersion(package.version), package, directory)
    prepared = PreparedBuild(addon, instance or default_instance(addon), chosen, stock_capabilities())
    return prepared.request(prepared.own_values(), BuildTerms(quotes=True))


def _check_application(path: str, built: BuiltRelease) -> Iterator[ModuleRemark]:
    """A remark if user interfaces will not show all that belongs to an instance."""
    if built.unshown:
        text = f"the Application shows objects of its own namespace only, not those in {', '.join(built.unshown)}"
        yield ModuleRemark(path, code="application-partial", text=text)
