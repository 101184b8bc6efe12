"""Where channels and packages lie in tests: one face for every kind of source."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from hookrunner.packages.checksums import CHECKSUMS, compute_checksums, render_checksums
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.source_locations import PackageSource

FILES = {"manifest.yaml": b"kind: ConfigMap\n", "package.yaml": b'kubernetes: ">=1.28"\n'}
CHART = {"Chart.yaml": b"name: a\n", "templates/a.yaml": b"kind: A\n", "templates/sub/b.yaml": b"kind: B\n"}


def with_checksums(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files and their list, as someone publishes them."""
    return {**files, CHECKSUMS: render_checksums(compute_checksums(files))}


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
