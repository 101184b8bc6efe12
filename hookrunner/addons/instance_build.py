"""An instance with the package that it gets: what must hold before it is built, its values, and the build.

    prepared = PreparedBuild(addon, instance, chosen, capabilities, installed="1.14.2")
    if obstacle := prepared.obstacle: …             # the package does not fit the cluster or what is installed
    prepared.describe(store, layers)                # hooks and templates know the version from here on
    built = await builder.build(prepared.request(store, terms))
    if obstacle := prepared.refusal_of(built): …    # an object asks for a newer hookrunner

A running hookrunner (`instances/instance_planner.py`), `addon render` and `addon test` (`testing/addons/`) and
`addon lint` take these steps, so what is tried offline is what runs. They differ in where a package comes from, in what
hooks find, and in what becomes of an obstacle. `InstanceBuild` is the last two steps as convergence asks for them
(`convergence.plan.ReleaseBuild`): a run that has its package, with the values that its hooks leave.
"""

from contextlib import suppress
from functools import cached_property
from pathlib import Path

from hookrunner.addons.addon_values import AddonValues, instance_values, known_of
from hookrunner.addons.build_request import BuildRequest, BuildTerms, build_digest, looks_up, relevant_capabilities
from hookrunner.addons.object_builder import BuiltRelease, ObjectBuilder
from hookrunner.addons.version_resolver import (
    ResolvedVersion,
    VersionRequest,
    check_operator,
    check_package,
    untested_reason,
    version_request,
)
from hookrunner.errors import BadChart, BadPatch, RunBlocked
from hookrunner.model.addon_status import AddonObstacle
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.releases import Capabilities, ReleaseInputs, RenderedChart
from hookrunner.packages.package import Package
from hookrunner.values.section_store import SectionStore
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChosenPackage:
    """A package, its version as it was found, the directory with its files, and the git commit that it is from; "" for
    other sources."""

    version: ResolvedVersion
    package: Package
    directory: Path
    commit: str = ""


@dataclass(frozen=True)
class PreparedBuild:
    """An instance with its package, for a cluster with these capabilities. `installed` is the version that it has now,
    empty before the first install. Each report of its status asks what follows from these, so that it is kept."""

    addon: Addon
    instance: Instance
    chosen: ChosenPackage
    capabilities: Capabilities
    installed: str = ""

    @cached_property
    def versions(self) -> VersionRequest:
        """What decides about the version."""
        return version_request(self.addon, self.instance, self.capabilities.kube_version, self.installed)

    @cached_property
    def untested(self) -> str:
        """Why the version counts as untested on this cluster, "" if it does not."""
        return untested_reason(self.chosen.package.traits, self.versions, self.chosen.version.version)

    @property
    def obstacle(self) -> AddonObstacle | None:
        """Why the package cannot be installed here, None if it can."""
        return check_package(self.chosen.package.traits, self.versions, self.chosen.version.version)

    def describe(self, store: SectionStore, layers: AddonValues) -> None:
        """Let hooks and templates see the version and the spec; the instance has a section in the store. Raises
        BadValues."""
        known = known_of(self.instance, self.addon, self.chosen.version, self.installed)
        store.describe(self.instance.unit, layers.of_instance(known), dict(self.instance.own))

    def own_values(self) -> SectionStore:
        """The same values in a store of their own, for tools that ask no cluster. Raises BadAddon, BadValues."""
        return instance_values(self.addon, self.instance, self.chosen.version)

    def request(self, values: SectionStore, terms: BuildTerms, install: bool = True) -> BuildRequest:
        """What the objects are made from, with the values as hooks have left them. `install` means that there is no
        earlier revision. Raises BadValues if templates must not see these values."""
        values.for_helm(self.instance.unit)
        return BuildRequest(
            addon=self.addon,
            instance=self.instance,
            package=self.chosen.package,
            directory=self.chosen.directory,
            values=values.document(self.instance.unit),
            capabilities=self.capabilities,
            terms=terms,
            install=install,
        )

    def refusal_of(self, built: BuiltRelease) -> AddonObstacle | None:
        """Why what was built cannot be installed by this hookrunner, None if it can."""
        return check_operator(built.min_operator, self.versions, self.chosen.version.version)


@dataclass(frozen=True, slots=True)
class BuildTools:
    """What all instances are built with. `terms` are the same for all builds."""

    builder: ObjectBuilder
    store: SectionStore
    terms: BuildTerms


@dataclass(frozen=True, slots=True)
class InstanceBuild:
    """The build of one run."""

    prepared: PreparedBuild
    tools: BuildTools

    def relevant(self, served: Capabilities) -> Capabilities | None:
        """What its objects may depend on of what the cluster serves, None for nothing."""
        chosen = self.prepared.chosen
        with suppress(BadChart):
            return relevant_capabilities(chosen.package, chosen.directory, served)
        return None

    async def read_inputs(self) -> ReleaseInputs:
        """The digest of package, patches, values and, if a template reads them, capabilities. Raises BadValues,
        BadChart, RenderFailed."""
        chosen, request = self.prepared.chosen, self.prepared.request(self.tools.store, self.tools.terms)
        return ReleaseInputs(build_digest(request), request.values, looks_up(chosen.package, chosen.directory))

    async def render(self, is_first: bool) -> RenderedChart:
        """The objects. Raises BadValues, BadChart, RenderFailed, KubeError; RunBlocked if one of them needs a newer
        hookrunner, or if a patch does not fit: to try it again helps only when the instance, its package or a value
        changes."""
        try:
            built = await self.tools.builder.build(self.prepared.request(self.tools.store, self.tools.terms, is_first))
        except BadPatch as error:
            raise RunBlocked(str(error)) from error
        if obstacle := self.prepared.refusal_of(built):
            raise RunBlocked(obstacle.message, obstacle)
        return built.rendered
