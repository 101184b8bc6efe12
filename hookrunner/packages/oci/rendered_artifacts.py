"""Artifacts of our own types as they are pushed: a manifest, and the files that it leads to. Pure.

    artifact = render_package({"manifest.yaml": b"…", "SHA256SUMS": b"…"})
    artifact.manifest, artifact.blobs

Each file is a layer whose title is its path. So the list of checksums and its signature can be read alone, files that
two versions share are sent once, and the same files always make the same manifest: an archive would depend on the
library that packs it, and an annotation with the time on the clock.
Source: https://github.com/opencontainers/image-spec/blob/main/manifest.md#guidelines-for-artifact-usage
"""

from collections.abc import Mapping

from hookrunner.packages.oci.manifests import MANIFEST_TYPES, TITLE, digest_of_bytes
from hookrunner.packages.oci.package_artifacts import CHANNEL_TYPE, PACKAGE_TYPE
from hookrunner.packages.package_files import SIGNATURE_SUFFIX
from kubetypes.json_values import JSON, written
from kubetypes.light_dataclasses import dataclass

_EMPTY = b"{}"
_EMPTY_TYPE = "application/vnd.oci.empty.v1+json"
"""The config of an artifact that has none."""
_FILE_TYPE = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class RenderedArtifact:
    """A manifest, and all blobs that must be there before it, each once."""

    manifest: bytes
    blobs: tuple[bytes, ...]


def render_package(files: Mapping[str, bytes]) -> RenderedArtifact:
    """The artifact of a package with these files, its list of checksums and signature among them."""
    return _render(PACKAGE_TYPE, files)


def render_channel(name: str, text: bytes, signature: bytes) -> RenderedArtifact:
    """The artifact of a channel, and of its signature unless that is empty."""
    return _render(CHANNEL_TYPE, {name: text} | ({name + SIGNATURE_SUFFIX: signature} if signature else {}))


def _render(artifact_type: str, files: Mapping[str, bytes]) -> RenderedArtifact:
    document: JSON = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPES[0],
        "artifactType": artifact_type,
        "config": _descriptor(_EMPTY_TYPE, _EMPTY),
        "layers": [_descriptor(_FILE_TYPE, files[path], {"annotations": {TITLE: path}}) for path in sorted(files)],
    }
    return RenderedArtifact(written(document), tuple(dict.fromkeys([_EMPTY, *files.values()])))


def _descriptor(media_type: str, data: bytes, more: Mapping[str, JSON] = {}) -> JSON:
    return {"mediaType": media_type, "digest": digest_of_bytes(data), "size": len(data), **more}
