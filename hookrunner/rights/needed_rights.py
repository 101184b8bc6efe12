"""All rights that an installation needs: of its hooks, of what its modules and addons install, and hookrunner's own.

needed = await find_needed_rights(settings, "hookrunner", Configured(), source_of)
needed.rights                       # merged, each with who needs it for what
needed.notes                        # what could only be guessed
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from hookrunner.addons.addon_crd import read_definitions
from hookrunner.addons.addon_discovery import AddonCatalog, load_offer
from hookrunner.charts.chart_files import read_crds
from hookrunner.charts.renderer import Renderer, RenderLimits
from hookrunner.errors import BadInput
from hookrunner.hooks import catalog, discovery
from hookrunner.hooks.catalog import Catalog
from hookrunner.manifests.role_objects import to_line
from hookrunner.model.addons import Addon
from hookrunner.model.bindings import Hook
from hookrunner.model.modules import Module
from hookrunner.model.rights import Right, merge
from hookrunner.modules import shelf
from hookrunner.modules.offline import Configured, Offline, offline
from hookrunner.rights.case_rights import used_rights
from hookrunner.rights.hook_rights import declared_rights, reason_of
from hookrunner.rights.kind_names import KindNames
from hookrunner.rights.own_rights import Installation, own_rights
from hookrunner.rights.package_rights import INSTANCE, ModuleCharts, addon_rights
from hookrunner.rights.release_rights import watched_rights
from hookrunner.settings import Settings
from hookrunner.testing.addons.addon_bench import SourceOf, addon_bench
from hookrunner.testing.bench import Bench, bench
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NeededRights:
    """`own` are those of hookrunner itself, `others` those of hooks, modules and addons; both are merged. `watching`
    take the place of `others` where each instance names an account that writes its objects. `notes` are for a person.
    """

    own: tuple[Right, ...]
    others: tuple[Right, ...]
    notes: tuple[str, ...] = ()
    watching: tuple[Right, ...] = ()

    @property
    def all(self) -> tuple[Right, ...]:
        """All of them, merged."""
        return merge((*self.own, *self.others))


@dataclass(frozen=True, slots=True)
class Files:
    """What the settings name, read: `plain` are hooks of no module and no addon, with their test cases in
    `directories`."""

    settings: Settings
    modules: Offline
    offer: AddonCatalog
    source_of: SourceOf

    @property
    def used(self) -> Sequence[Module]:
        """The modules. Raises BadInput for one that cannot be loaded."""
        return [self.modules.module(module.name) for module in self.modules.shelf.modules]


def read_files(settings: Settings, configured: Configured, source_of: SourceOf) -> Files:
    """Read modules and addons; of hooks only where they are. Raises BadInput, StartRefused."""
    offer = load_offer(settings.addons) if settings.addons.on else AddonCatalog()
    for rejected in offer.rejected:
        raise BadInput(f"addon '{rejected.name}' cannot be offered: {rejected.problem}")
    return Files(settings, offline(shelf.read(settings.modules), configured), offer, source_of)


async def find_needed_rights(files: Files, namespace: str) -> NeededRights:
    """The rights for a hookrunner in this namespace. Raises HookrunnerError with what cannot be computed."""
    settings, kinds = files.settings, KindNames()
    modules, addons = files.used, files.offer.addons
    definitions = [crd for module in modules for crd in read_crds(module.directory, settings.modules.crd_filters)]
    kinds.learn((*definitions, *(crd for addon in addons for crd in read_definitions(addon))))
    async with bench(settings.hooks) as tools:
        hooks = await _load_hooks(files, tools)
        used = await used_rights(hooks, tools, kinds)
    places = [module.traits.namespace or namespace for module in modules if module.chart]
    installed = Installation(hooks, places, definitions, addons)
    of_modules, of_addons = await _module_rights(files, namespace, kinds), await _addon_rights(files, kinds)
    rights = [*of_modules, *of_addons]
    created = {name for right in rights if right.resources == ("namespaces",) for name in right.names}
    of_hooks = [*_placed((*declared_rights(hooks, kinds), *used), created)]
    watching = merge([*of_modules, *watched_rights(of_addons), *of_hooks])
    others = watching if settings.addons.accounts == "require" else merge([*rights, *of_hooks])
    own = _placed(own_rights(settings, namespace, installed), created)
    notes = {*kinds.guessed, *_unstated(hooks, used)}
    return NeededRights(merge(own), others, tuple(sorted(notes)), watching)


def _placed(rights: Iterable[Right], created: Collection[str]) -> Iterator[Right]:
    """The rights; those in namespaces that releases create, where no Role can wait for them, count everywhere."""
    return (replace(right, namespace="") if right.namespace in created else right for right in rights)


def _unstated(hooks: Iterable[Hook], used: Iterable[Right]) -> Iterator[str]:
    """What hooks use and do not state, though they state something."""
    stating = {reason_of(hook, "").who for hook in hooks if hook.config.settings.permissions is not None}
    for right in merge(used):
        for need in right.needs:
            if need.who in stating:
                yield f"{need.who} does not state in settings.permissions what its {need.why} uses: {to_line(right)}"


async def _load_hooks(files: Files, tools: Bench) -> list[Hook]:
    """All hooks. Raises BadHookConfig for the first bad one."""
    settings, loading = files.settings, []
    directory = settings.hooks.directory
    if directory and (directory.is_dir() or not settings.hooks.optional):
        loading.append(catalog.load(tools.settings, tools.children, tools.jq))
    if settings.modules.global_hooks:
        top = settings.modules.global_hooks
        loading.append(catalog.load_global(top, tools.settings, tools.children, tools.jq))
    units: Sequence[Module | Addon] = (*files.used, *files.offer.addons)
    for unit in units:
        found = discovery.find_in_module(unit.name, unit.directory)
        loading.append(catalog.ask(found, tools.settings, tools.children, tools.jq))
    catalogs: list[Catalog] = await asyncio.gather(*loading)
    for problem in (problem for read in catalogs for problem in read.problems):
        raise problem
    return [hook for read in catalogs for hook in read.hooks]


async def _module_rights(files: Files, namespace: str, kinds: KindNames) -> list[Right]:
    """The rights for what modules install."""
    rights = list[Right]()
    if files.used:
        async with Renderer(RenderLimits.of(files.settings.modules)) as renderer:
            charts = ModuleCharts(files.modules, namespace, files.settings.modules.extra_labels, renderer)
            for module in files.used:
                rights += await charts.rights(module, kinds)
    return rights


async def _addon_rights(files: Files, kinds: KindNames) -> list[Right]:
    """The rights for what addons install."""
    settings, rights = files.settings, list[Right]()
    if files.offer.addons:
        async with addon_bench(settings, files.offer, files.source_of) as built:
            for addon in files.offer.addons:
                rights += _of_instances(await addon_rights(addon, built, kinds), settings.addons.namespaces)
    return rights


def _of_instances(rights: Iterable[Right], places: Sequence[str]) -> list[Right]:
    """The rights, with those in the namespaces of instances in the ones that are reconciled, everywhere without any."""
    return [
        part for right in rights for part in (right.in_namespaces(places) if right.namespace == INSTANCE else (right,))
    ]
