"""An instance with the package that it gets: what must hold before it is built, its values, and the build.

    prepared = PreparedBuild(addon, instance, chosen, capabilities, installed="1.14.2")
    if obstacle := prepared.obstacle: …             # the package does not fit the cluster or what is installed
    prepared.describe(store, layers)                # hooks and templates know the version from here on
    built = await builder.build(prepared.request(store, terms))
    if obstacle := prepared.refusal_of(built): …    # an object asks for a newer hookrunner

A running hookrunner (`instances/instance_planner.py`), `addon render` and `addon test` (`testing/addons/`) and
`addon lint` take these steps, so what is tried offline is what runs. They differ in where a package comes from, in what
hooks find, and in what becomes of an obstacle.
"""

from dataclasses import dataclass
from pathlib import Path

from hookrunner.addons.addon_values import AddonValues, instance_values, known_of
from hookrunner.addons.build_request import BuildRequest, BuildTerms
from hookrunner.addons.object_builder import BuiltRelease
from hookrunner.addons.version_resolver import (
    ResolvedVersion,
    VersionRequest,
    check_operator,
    check_package,
    untested_reason,
    version_request,
)
from hookrunner.model.addon_status import AddonObstacle
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.releases import Capabilities
from hookrunner.packages.package import Package
from hookrunner.values.section_store import SectionStore


@dataclass(frozen=True, slots=True)
class ChosenPackage:
    """A package, its version as it was found, and the directory with its files."""

    version: ResolvedVersion
    package: Package
    directory: Path


@dataclass(frozen=True, slots=True)
class PreparedBuild:
    """An instance with its package, for a cluster with these capabilities. `installed` is the version that it has now,
    empty before the first install."""

    addon: Addon
    instance: Instance
    chosen: ChosenPackage
    capabilities: Capabilities
    installed: str = ""

    @property
    def version(self) -> ResolvedVersion:
        """The version of its package."""
        return self.chosen.version

    @property
    def package(self) -> Package:
        """Its package."""
        return self.chosen.package

    @property
    def versions(self) -> VersionRequest:
        """What decides about the version."""
        return version_request(self.addon, self.instance, self.capabilities.kube_version, self.installed)

    @property
    def obstacle(self) -> AddonObstacle | None:
        """Why the package cannot be installed here, None if it can."""
        return check_package(self.package.traits, self.versions, self.version.version)

    @property
    def untested(self) -> str:
        """Why the version counts as untested on this cluster; "" if it does not."""
        return untested_reason(self.package.traits, self.versions, self.version.version)

    def describe(self, store: SectionStore, layers: AddonValues) -> None:
        """Let hooks and templates see the version and the spec; the instance has a section in the store. Raises
        BadValues."""
        known = known_of(self.instance, self.addon, self.version, self.installed)
        store.describe(self.instance.unit, layers.of_instance(known), dict(self.instance.own))

    def own_values(self) -> SectionStore:
        """The same values in a store of their own, for tools that ask no cluster. Raises BadAddon, BadValues."""
        return instance_values(self.addon, self.instance, self.version)

    def request(self, values: SectionStore, terms: BuildTerms, install: bool = True) -> BuildRequest:
        """What the objects are made from, with the values as hooks have left them. `install` says that there is no
        earlier revision. Raises BadValues if templates must not see these values."""
        values.for_helm(self.instance.unit)
        return BuildRequest(
            addon=self.addon,
            instance=self.instance,
            package=self.package,
            directory=self.chosen.directory,
            values=values.document(self.instance.unit),
            capabilities=self.capabilities,
            terms=terms,
            install=install,
        )

    def refusal_of(self, built: BuiltRelease) -> AddonObstacle | None:
        """Why what was built cannot be installed by this hookrunner, None if it can."""
        return check_operator(built.min_operator, self.versions, self.version.version)
