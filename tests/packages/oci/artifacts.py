"""Artifacts as tools push them: manifests and blobs, and where tests put them: a layout, or a registry that is asked.

artifact = files_artifact({"manifest.yaml": b"…"})          # as `oras push` writes it
layout.put("coredns", "1.14.6", artifact)
"""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hookrunner.packages.oci.manifests import INDEX_TYPES, MANIFEST_TYPES, REF_NAME, TITLE
from hookrunner.packages.oci.package_artifacts import CHANNEL_TYPE, CHART_TYPE, PACKAGE_TYPE, UNPACK

OCI_MANIFEST, OCI_INDEX = MANIFEST_TYPES[0], INDEX_TYPES[0]
IMAGE_CONFIG = "application/vnd.oci.image.config.v1+json"
IMAGE_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
EMPTY = "application/vnd.oci.empty.v1+json"
OLM = "operators.operatorframework.io.bundle"


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def descriptor(media_type: str, data: bytes, **annotations: str) -> dict[str, Any]:
    """What names these bytes."""
    named = {"annotations": annotations} if annotations else {}
    return {"mediaType": media_type, "digest": sha256(data), "size": len(data), **named}


@dataclass
class Artifact:
    """A manifest or index, and all that it leads to by digest: `blobs`, and for an index `manifests`."""

    document: dict[str, Any]
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, bytes] = field(default_factory=dict)

    @property
    def manifest(self) -> bytes:
        return json.dumps(self.document).encode()

    @property
    def media_type(self) -> str:
        return str(self.document["mediaType"])


def artifact(artifact_type: str, layers: Iterable[tuple[dict[str, Any], bytes]], config: bytes = b"{}") -> Artifact:
    """One with these layers; a type that is a config's is that of the config."""
    pairs = list(layers)
    by_config = artifact_type.startswith("application/vnd.oci.image.config") or artifact_type == CHART_TYPE
    blobs = {layer["digest"]: data for layer, data in pairs} | {sha256(config): config}
    document = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        **({} if by_config else {"artifactType": artifact_type}),
        "config": descriptor(artifact_type if by_config else EMPTY, config),
        "layers": [layer for layer, _ in pairs],
    }
    return Artifact(document, blobs)


def files_artifact(files: Mapping[str, bytes], artifact_type: str = PACKAGE_TYPE) -> Artifact:
    """Each file is a layer, as `oras push FILE…` makes it."""
    plain = "application/vnd.oci.image.layer.v1.tar"
    return artifact(artifact_type, ((descriptor(plain, data, **{TITLE: path}), data) for path, data in files.items()))


def channel_artifact(text: bytes) -> Artifact:
    return files_artifact({"stable": text}, CHANNEL_TYPE)


def archive_artifact(*layers: bytes, **annotations: str) -> Artifact:
    """Archives without titles."""
    return artifact(PACKAGE_TYPE, ((descriptor(IMAGE_LAYER, data, **annotations), data) for data in layers))


def directory_artifact(name: str, files: Mapping[str, bytes]) -> Artifact:
    """A directory, as `oras push DIRECTORY` makes it."""
    return archive_artifact(
        packed({f"{name}/{path}": data for path, data in files.items()}), **{TITLE: name, UNPACK: "true"}
    )


def chart_artifact(files: Mapping[str, bytes], name: str = "coredns") -> Artifact:
    """As `helm push` makes it."""
    data = packed({f"{name}/{path}": content for path, content in files.items()})
    return artifact(CHART_TYPE, [(descriptor(CHART_LAYER, data), data)])


def image_artifact(*layers: bytes, labels: Mapping[str, str] = {}) -> Artifact:
    """As `docker buildx build` makes it."""
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Labels": dict(labels)}}).encode()
    return artifact(IMAGE_CONFIG, ((descriptor(IMAGE_LAYER, data), data) for data in layers), config)


def bundle_artifact(files: Mapping[str, bytes]) -> Artifact:
    """A bundle image with these manifests."""
    layer = packed({f"manifests/{path}": data for path, data in files.items()})
    labels = {f"{OLM}.mediatype.v1": "plain", f"{OLM}.manifests.v1": "manifests/", f"{OLM}.metadata.v1": "metadata/"}
    return image_artifact(layer, labels=labels)


def index_artifact(by_platform: Mapping[str, Artifact]) -> Artifact:
    """An index of architectures."""
    entries, blobs, manifests = [], dict[str, bytes](), dict[str, bytes]()
    for name, entry in by_platform.items():
        system, _, machine = name.partition("/")
        platform = {"platform": {"os": system, "architecture": machine}} if name else {}
        entries.append({**descriptor(entry.media_type, entry.manifest), **platform})
        blobs |= entry.blobs
        manifests |= {sha256(entry.manifest): entry.manifest, **entry.manifests}
    document = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}
    return Artifact(document, blobs, manifests)


def packed(files: Mapping[str, bytes]) -> bytes:
    """A tar archive of files, packed."""
    return gzip.compress(archived(*(entry(path, data) for path, data in files.items())), 1)


Entry = tuple[tarfile.TarInfo, bytes]


def entry(path: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, target: str = "") -> Entry:
    """One of an archive."""
    info = tarfile.TarInfo(path)
    info.size, info.type, info.linkname = len(data), kind, target
    return info, data


def archived(*entries: Entry) -> bytes:
    """A tar archive."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, data in entries:
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


class Layout:
    """An image layout in a directory, with names like `coredns:1.14.6`."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self._entries: dict[str, dict[str, Any]] = {}
        self.put_blob(b"{}")
        (directory / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')

    def put(self, name: str, tag: str, pushed: Artifact) -> None:
        for data in (*pushed.blobs.values(), *pushed.manifests.values(), pushed.manifest):
            self.put_blob(data)
        self._entries[f"{name}:{tag}"] = descriptor(pushed.media_type, pushed.manifest, **{REF_NAME: f"{name}:{tag}"})
        index = {"schemaVersion": 2, "manifests": list(self._entries.values())}
        (self.directory / "index.json").write_text(json.dumps(index))

    def put_blob(self, data: bytes) -> None:
        path = self.directory / "blobs" / sha256(data).replace(":", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def archive(self, path: Path) -> None:
        """Write the layout as a tar archive."""
        with tarfile.open(path, "w") as archive:
            archive.add(self.directory, ".")
