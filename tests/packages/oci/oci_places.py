"""Where channels and packages lie in OCI registries and layouts, for the contract of all sources."""

from collections.abc import Callable, Mapping
from pathlib import Path

from hookrunner.packages.https_reader import HttpsReader
from hookrunner.packages.oci.image_layout import LayoutStore
from hookrunner.packages.oci.oci_memory import OciMemory
from hookrunner.packages.oci.oci_source import OciSource
from hookrunner.packages.oci.registry_client import RegistryClient
from hookrunner.packages.oci_locations import LayoutLocation, RegistryLocation
from hookrunner.packages.source_locations import PackageSource
from tests.oracles.distribution import Distribution
from tests.packages.oci.artifacts import (
    Artifact,
    Layout,
    archive_artifact,
    bundle_artifact,
    channel_artifact,
    files_artifact,
    packed,
)
from tests.packages.oci.registry_server import REPOSITORY, GivenCredentials, RegistryServer

FORMS: dict[str, Callable[[Mapping[str, bytes]], Artifact]] = {
    "files": files_artifact,
    "archive": lambda files: archive_artifact(packed(files)),
    "image": bundle_artifact,
}
"""What a package can be pushed as. A chart can only be a chart."""


class RegistryPlace:
    """A registry whose packages have one form."""

    def __init__(self, registry: RegistryServer, form: str) -> None:
        self._registry = registry
        self._form = FORMS[form]
        self.source: PackageSource = registry.source()

    def put_channel(self, name: str, text: bytes) -> None:
        self._registry.push(f"{REPOSITORY}/channels", name, channel_artifact(text))

    def put_package(self, component: str, version: str, files: Mapping[str, bytes]) -> None:
        self._registry.push(f"{REPOSITORY}/{component}", version.replace("+", "_"), self._form(files))


class DistributionPlace:
    """A path of the distribution project's registry, with archives."""

    def __init__(self, registry: Distribution, reader: HttpsReader, path: str) -> None:
        self._registry = registry
        self._path = path
        store = RegistryClient(reader, GivenCredentials()).open(RegistryLocation(registry.url, path))
        self.source: PackageSource = OciSource(store, OciMemory(), 30.0)

    def put_channel(self, name: str, text: bytes) -> None:
        self._registry.push(f"{self._path}/channels", name, channel_artifact(text))

    def put_package(self, component: str, version: str, files: Mapping[str, bytes]) -> None:
        pushed = FORMS["archive"](files)
        self._registry.push(f"{self._path}/{component}", version.replace("+", "_"), pushed)


class LayoutPlace:
    """A layout, in a directory or as an archive that is written with each change."""

    def __init__(self, directory: Path, is_archive: bool) -> None:
        (directory / "layout").mkdir()
        self._layout = Layout(directory / "layout")
        self._archive = directory / "layout.tar" if is_archive else None
        location = LayoutLocation(self._archive or self._layout.directory)
        self.source: PackageSource = OciSource(LayoutStore(location), OciMemory(), 0.0)

    def put_channel(self, name: str, text: bytes) -> None:
        self._put("channels", name, channel_artifact(text))

    def put_package(self, component: str, version: str, files: Mapping[str, bytes]) -> None:
        self._put(component, version.replace("+", "_"), files_artifact(files))

    def _put(self, name: str, tag: str, pushed: Artifact) -> None:
        self._layout.put(name, tag, pushed)
        if self._archive:
            self._layout.archive(self._archive)
