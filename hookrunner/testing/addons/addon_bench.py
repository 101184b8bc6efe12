"""Builds instances of addons without a cluster, by the code that builds them in one.

    async with addon_bench(settings, find_addons([Path("addons").absolute()])) as bench:
        built = await bench.build(instance, cluster_objects, stock_capabilities())

Hooks run as in the first run of an instance (`addon_hooks.py`), and find the given objects as the cluster. What depends
on other instances or on time is left out: gates, an installed version, adoption.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from hookrunner.addons.addon_crd import read_definitions, read_object_schema
from hookrunner.addons.addon_discovery import AddonCatalog
from hookrunner.addons.build_request import BuildTerms, ImageSettings, ReadScopes
from hookrunner.addons.files.definition_rules import broken_rules
from hookrunner.addons.instance_build import ChosenPackage, PreparedBuild
from hookrunner.addons.instance_fields import read_instance, require_kind
from hookrunner.addons.object_builder import BuiltRelease, ObjectBuilder
from hookrunner.addons.version_resolver import ResolvedVersion, resolve_version, version_request
from hookrunner.charts.renderer import Renderer, RenderLimits
from hookrunner.errors import BadInput, BadPatch, PackageError, RunBlocked
from hookrunner.manifests import object_fields
from hookrunner.manifests.object_metadata import Kind, scopes_of
from hookrunner.manifests.program_runner import ProgramRunner
from hookrunner.model.addon_status import AddonObstacle
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.releases import Capabilities
from hookrunner.model.sourced_objects import SourcedObject
from hookrunner.packages.channels import Channel, is_kubernetes_in, parse_channel
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.oci.image_layout import LayoutStore
from hookrunner.packages.oci.oci_memory import OciMemory
from hookrunner.packages.oci.oci_source import OciSource
from hookrunner.packages.oci_locations import LayoutLocation
from hookrunner.packages.package import Package
from hookrunner.packages.package_cache import unpack_package
from hookrunner.packages.package_fetcher import require_signed, require_trusted
from hookrunner.packages.signatures.signing_keys import read_keys
from hookrunner.packages.source_locations import DirectoryLocation, PackageSource, locations_of
from hookrunner.releases.objects.tolerant_writes import is_brought_in
from hookrunner.settings import AddonsSettings, Settings
from hookrunner.shapes import suggestion
from hookrunner.testing.addons.addon_hooks import HookInputs, run_hooks
from hookrunner.testing.bench import Bench, bench
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.openapi.custom_kinds import custom_kinds

_DEFINITION = "CustomResourceDefinition"

SourceOf: TypeAlias = Callable[[Addon], PackageSource]
"""The packages of an addon. Raises BadInput for a location that cannot be read without a network."""


@dataclass(frozen=True, slots=True)
class BuiltInstance:
    """What an instance leads to: its unit, the version, the objects in the order of installation with definitions
    first, notes for a person, and Helm hooks."""

    name: str
    version: str
    objects: tuple[JSON, ...]
    notes: tuple[str, ...] = ()
    helm_hooks: tuple[JSON, ...] = ()


@dataclass(frozen=True, slots=True)
class AddonBench:
    """Builds instances. `source_of` returns where packages are, `terms` are those of each build, `scratch` is
    a directory of its own."""

    catalog: AddonCatalog
    source_of: SourceOf
    hooks: Bench
    builder: ObjectBuilder
    terms: BuildTerms
    scratch: Path

    async def build(self, document: JSON, cluster: tuple[JSON, ...], capabilities: Capabilities) -> BuiltInstance:
        """Build the objects of an instance in a cluster with these objects. Raises HookrunnerError with what refuses
        the instance."""
        addon = addon_of(self.catalog, document)
        instance = checked_instance(addon, document)
        version, package = await read_package(addon, instance, self.source_of(addon), capabilities.kube_version)
        with TemporaryDirectory(dir=self.scratch) as own:
            chosen = ChosenPackage(version, package, unpack_package(package, Path(own)))
            prepared = PreparedBuild(addon, instance, chosen, with_definitions(capabilities, cluster))
            _require_open(prepared.obstacle)
            hook_notes, built = await self._build(prepared, cluster)
        _require_open(prepared.refusal_of(built))
        unknown = check_fields(built, [*cluster, *read_definitions(addon)])
        notes = (*hook_notes, *built.rendered.unmatched, *unknown, *filter(None, [prepared.untested]))
        rendered = built.rendered
        helm_hooks = tuple(hook.obj for hook in rendered.hooks)
        return BuiltInstance(instance.unit, package.version, rendered.objects, notes, helm_hooks)

    async def _build(self, prepared: PreparedBuild, cluster: tuple[JSON, ...]) -> tuple[tuple[str, ...], BuiltRelease]:
        """Notes on hooks, and what the objects are with the values that they leave."""
        values, instance = prepared.own_values(), prepared.instance
        require_rules(prepared.addon, instance)
        inputs = HookInputs(instance.document, prepared.chosen.directory, cluster)
        notes = await run_hooks(self.hooks, prepared.addon.directory, inputs, values, instance.unit)
        terms = replace(self.terms, read_scopes=scopes_in(cluster))
        return notes, await self.builder.build(prepared.request(values, terms))


def check_fields(built: BuiltRelease, definitions: Iterable[JSON] = ()) -> list[str]:
    """Notes on fields of objects that Kubernetes, or one of the definitions among these and the built objects, does not
    know. Raises BadPatch for those that a patch has brought in."""
    notes, refused = list[str](), list[str]()
    custom = custom_kinds([*definitions, *built.rendered.objects])
    for obj in built.rendered.objects:
        unpatched = built.rendered.unpatched.get(SourcedObject("", obj).identity)
        for unknown, text in object_fields.problems(obj, custom):
            is_patched = unpatched is not None and is_brought_in(unknown.path, unpatched)
            (refused if is_patched else notes).append(text)
    if refused:
        raise BadPatch("SchemaInvalid", f"a patch sets what does not exist: {'; '.join(refused)}")
    return notes


def scopes_in(cluster: Iterable[JSON]) -> ReadScopes:
    """Answers which kinds have namespaces for a cluster that has these objects, as far as they define kinds."""
    scopes = scopes_of([SourcedObject("given", obj) for obj in cluster])

    async def read_scopes(kinds: Collection[Kind]) -> dict[Kind, bool]:
        return {kind: known for kind in kinds if (known := scopes(*kind)) is not None}

    return read_scopes


def with_definitions(capabilities: Capabilities, cluster: Iterable[JSON]) -> Capabilities:
    """What a cluster serves that has these objects: also the kinds of its definitions."""
    specs = (obj.get("spec") for obj in cluster if obj.get("kind") == _DEFINITION)
    served = {name for spec in specs if isinstance(spec, dict) for name in _served_names(spec)}
    return replace(capabilities, api_versions=tuple(sorted({*capabilities.api_versions, *served})))


def _served_names(spec: Mapping[str, JSON]) -> Iterator[str]:
    """Nothing for what is missing: a definition in a test case may be incomplete."""
    names = spec.get("names")
    for version in spec.get("versions") or ():
        if version.get("served", True):
            yield (served := f"{spec.get('group')}/{version.get('name')}")
            yield f"{served}/{names.get('kind') if isinstance(names, dict) else ''}"


def addon_of(catalog: AddonCatalog, document: JSON) -> Addon:
    """The addon that an object is an instance of. Raises BadInput."""
    api_version, kind = str(document.get("apiVersion")), str(document.get("kind"))
    if addon := catalog.of_kind(api_version, kind):
        require_kind(addon, document)
        return addon
    for rejected in catalog.rejected:
        if kind.lower() in (rejected.name, rejected.name.replace("-", "")):
            raise BadInput(f"addon '{rejected.name}' cannot be offered: {rejected.problem}")
    kinds = [f"{addon.object.api_version} {addon.object.kind}" for addon in catalog.addons]
    hint = suggestion(f"{api_version} {kind}", kinds) or f"; there are {', '.join(kinds) or 'no addons'}"
    raise BadInput(f"no addon has instances of {api_version} {kind}{hint}")


def checked_instance(addon: Addon, document: JSON) -> Instance:
    """The instance that an object is. Raises RunBlocked with all fields that the API server would refuse."""
    instance = read_instance(addon, document)
    if instance.problems:
        raise RunBlocked(f"{addon.object.kind} {instance.name}: " + "; ".join(instance.problems))
    return instance


def require_rules(addon: Addon, instance: Instance) -> None:
    """Raises RunBlocked with the rules of the kind's definition that the object breaks, as the API server would say."""
    if broken := list(broken_rules(read_object_schema(addon), instance.document)):
        raise RunBlocked(f"{addon.object.kind} {instance.name}: " + "; ".join(broken))


def _require_open(obstacle: AddonObstacle | None) -> None:
    """Raises RunBlocked with what stands in the way."""
    if obstacle:
        raise RunBlocked(obstacle.message)


async def read_package(
    addon: Addon, instance: Instance, source: PackageSource, kubernetes: str
) -> tuple[ResolvedVersion, Package]:
    """The version that the instance asks for, on a first install on this version of Kubernetes, and its package. Raises
    PackageError, RunBlocked."""
    if not is_kubernetes_in(kubernetes, addon.requires.kubernetes):
        needed = addon.requires.kubernetes
        raise RunBlocked(f"addon '{addon.name}' needs Kubernetes {needed}, the cluster has {kubernetes}")
    request = version_request(addon, instance, kubernetes, installed="")
    wanted = resolve_version(request, await _read_channel(instance.fields.channel, source))
    if isinstance(wanted, AddonObstacle):
        raise RunBlocked(wanted.message)
    package = await source.read_package(addon.component, wanted.version)
    require_trusted(package, wanted.digest, is_remote=source.is_remote, verification="digest")
    return wanted, package


async def _read_channel(name: str, source: PackageSource) -> Channel | PackageError:
    """The channel, or why it cannot be read: an exact version needs none."""
    try:
        return parse_channel(name, await source.read_channel(name))
    except PackageError as error:
        return error


def offline_source(settings: AddonsSettings, addon: Addon) -> PackageSource:
    """Reads packages from files only, since nothing else is there without a network; mirrors and keys count as in a
    running hookrunner. Raises BadInput, BadSetting, StartRefused for a key that cannot be used."""
    location = locations_of([addon], settings)[addon.name]
    match location:
        case DirectoryLocation(path):
            source: PackageSource = DirectorySource(path)
        case LayoutLocation():
            source = OciSource(LayoutStore(location), OciMemory(), 0.0)
        case str():
            raise BadInput(location)
        case _:
            raise BadInput(f"addon '{addon.name}' has its packages in {location}; name a copy with --addon-source DIR")
    return require_signed(source, location, read_keys(settings.keys) if settings.keys else None)


@asynccontextmanager
async def addon_bench(settings: Settings, catalog: AddonCatalog, source_of: SourceOf) -> AsyncIterator[AddonBench]:
    """A bench with processes and a temporary directory of its own; hooks and templates find no cluster."""
    limits = RenderLimits.of(settings.modules)
    images = ImageSettings(settings.addons.private_registry, settings.addons.image_pull_secret)
    terms = BuildTerms(images, patches=settings.addons.patches, quotes=True)
    with TemporaryDirectory(prefix="hookrunner-addons-") as scratch:
        async with Renderer(limits) as renderer, bench(settings.hooks) as hooks:
            runner = ProgramRunner(hooks.children, Path(scratch))
            builder = ObjectBuilder(renderer, runner, hooks.settings.environ)
            yield AddonBench(catalog, source_of, hooks, builder, terms, Path(scratch))
