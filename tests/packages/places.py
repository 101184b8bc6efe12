"""Where channels and packages lie in tests: one face for every kind of source."""

import base64
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest

from hookrunner.errors import PackageError
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.packages.cluster_source import DIRECTORY_ANNOTATION, PACKAGE_LABEL, VERSION_LABEL, ClusterSource
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.package_files import CHECKSUMS, compute_checksums, render_checksums
from hookrunner.packages.source_locations import ClusterLocation, PackageSource
from hookrunner.settings import KubeSettings
from kubetypes.json_values import JSON
from tests.kube.server import ApiServer, api_server

FILES = {"manifest.yaml": b"kind: ConfigMap\n", "package.yaml": b'kubernetes: ">=1.28"\n'}
CHART = {"Chart.yaml": b"name: a\n", "templates/a.yaml": b"kind: A\n", "templates/sub/b.yaml": b"kind: B\n"}


def with_checksums(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files and their list, as someone publishes them."""
    return {**files, CHECKSUMS: render_checksums(compute_checksums(files))}


async def refusal_of(answer: Awaitable[object]) -> PackageError:
    """The error in place of an answer."""
    with pytest.raises(PackageError) as raised:
        await answer
    return raised.value


class Place(Protocol):
    """A source, and how its owner changes what it has."""

    @property
    def source(self) -> PackageSource: ...

    def put_channel(self, name: str, text: bytes) -> None: ...

    def put_package(self, component: str, version: str, files: Mapping[str, bytes]) -> None: ...


class DirectoryPlace:
    """Files below a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = DirectorySource(root)

    def put_channel(self, name: str, text: bytes) -> None:
        (self.root / name).write_bytes(text)

    def put_package(self, component: str, version: str, files: Mapping[str, bytes]) -> None:
        for path, data in files.items():
            file = self.root / "packages" / component / version / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)


class ClusterPlace:
    """Objects in a namespace of an API server: one with the channels, one for each directory of a package."""

    def __init__(self, api: ApiServer, client: Client, location: ClusterLocation) -> None:
        self.api = api
        self.client = client
        self._location = location
        self._channels: dict[str, bytes] = {}
        self.source = ClusterSource(location, client)

    def put_channel(self, name: str, text: bytes) -> None:
        self._channels[name] = text
        self.put(self._location.channels, self._channels)

    def put_package(self, component: str, version: str, files: Mapping[str, bytes]) -> None:
        directories = defaultdict[str, dict[str, bytes]](dict)
        for path, data in files.items():
            directory, _, key = path.rpartition("/")
            directories[directory][key] = data
        version = version.replace("+", "_")
        labels = {PACKAGE_LABEL: component, VERSION_LABEL: version}
        for number, (directory, contents) in enumerate(directories.items()):
            annotations = {DIRECTORY_ANNOTATION: directory} if directory else {}
            self.put(f"{component}-{version}-{number}".replace("_", "-"), contents, labels, annotations)

    def put(
        self,
        name: str,
        contents: Mapping[str, bytes],
        labels: Mapping[str, str] = {},
        annotations: Mapping[str, str] = {},
    ) -> None:
        """Create or replace an object. What is no text in a ConfigMap is binary data."""
        metadata = {"namespace": self._location.namespace, "name": name} | {
            "labels": labels,
            "annotations": annotations,
        }
        head: JSON = {"apiVersion": "v1", "kind": self._location.kind, "metadata": metadata}
        texts = {} if self._location.kind == "Secret" else {k: v.decode() for k, v in contents.items() if v.isascii()}
        encoded = {k: base64.b64encode(v).decode() for k, v in contents.items() if k not in texts}
        kind = {"type": "Opaque", "data": encoded} if self._location.kind == "Secret" else {}
        self.api.put(head | (kind or {"data": texts, "binaryData": encoded}))


@asynccontextmanager
async def cluster_place(location: ClusterLocation) -> AsyncIterator[ClusterPlace]:
    """One on an API server of its own."""
    async with api_server() as api:
        credentials = Credentials(KubeSettings(), Connection(api.url))
        async with Client(credentials, Requests(Metrics(""))) as client:
            yield ClusterPlace(api, client, location)
