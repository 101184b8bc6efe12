"""What manifests of OCI registries and image layouts say: descriptors, manifests, indexes of architectures.

    manifest = parse_manifest("package coredns 1.14.6", data)                    # Manifest or Index
    descriptor = choose_manifest("package coredns 1.14.6", index, architecture())
    require_content("package coredns 1.14.6", descriptor, digest, size)

Docker's manifests have other media types and the same fields. A descriptor names content by its SHA-256; every byte
that is used is checked against one, or was asked for by a tag. The descriptor's size bounds what is read.
Source: https://github.com/opencontainers/image-spec/blob/main/manifest.md, image-index.md, descriptor.md
"""

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import field

from hookrunner.errors import PackageError
from hookrunner.packages.names import LARGEST_CHANNEL, shown
from hookrunner.packages.package_files import is_digest
from hookrunner.shapes import TEXT, TEXTS, Integer, Many, Shape, Table, check
from kubetypes.bounds import PACKAGE_TEXT, in_units
from kubetypes.json_values import JSON, loads
from kubetypes.light_dataclasses import dataclass

LARGEST_MANIFEST = LARGEST_CHANNEL
MOST_LAYERS = 1010
"""Each file of a package may be a layer."""

TITLE = "org.opencontainers.image.title"
"""Annotation of a layer: its name as a file."""
REF_NAME = "org.opencontainers.image.ref.name"
"""Annotation of a manifest in an image layout: its tag."""

MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}
"""Go's names, which registries use."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """Content by its digest. `platform`, which is OS and architecture, and `artifact_type` are empty without one."""

    media_type: str
    digest: str
    size: int
    annotations: Mapping[str, str] = field(default_factory=dict)
    platform: str = ""
    artifact_type: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One artifact or image."""

    artifact_type: str
    config: Descriptor
    layers: Sequence[Descriptor]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Index:
    """Manifests of several architectures, or all of an image layout."""

    manifests: Sequence[Descriptor]


_SIZE = Integer(0, (1 << 63) - 1)
_DESCRIPTOR = Table(
    {
        "mediaType": TEXT,
        "digest": TEXT,
        "size": _SIZE,
        "annotations": TEXTS,
        "artifactType": TEXT,
        "platform": Table({"os": TEXT, "architecture": TEXT}, open=True),
    },
    {"mediaType": "…", "digest": "sha256:…", "size": "1"},
    open=True,
)
_COMMON: dict[str, Shape] = {"mediaType": TEXT, "artifactType": TEXT, "annotations": TEXTS}
_MANIFEST = Table(
    _COMMON | {"config": _DESCRIPTOR, "layers": Many(_DESCRIPTOR, at_least=0, at_most=MOST_LAYERS)},
    {"config": "{…}", "layers": "[…]"},
    open=True,
)
_INDEX = Table(
    _COMMON | {"manifests": Many(_DESCRIPTOR, at_least=0, at_most=10 * MOST_LAYERS)}, {"manifests": "[…]"}, open=True
)


def digest_of_bytes(data: bytes) -> str:
    """The digest by which content is named."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def architecture() -> str:
    """This machine's, as `linux/amd64`."""
    return f"linux/{_ARCHITECTURES.get(platform.machine(), platform.machine())}"


def parse_manifest(what: str, data: bytes) -> Manifest | Index:
    """What a manifest says; `what` begins messages. Raises PackageError: Malformed, TooLarge."""
    document = _load(what, data)
    is_index = isinstance(document, dict) and "manifests" in document
    problem = next(check(document, _INDEX if is_index else _MANIFEST), None)
    known = INDEX_TYPES if is_index else MANIFEST_TYPES
    if problem is None and document.get("mediaType", known[0]) not in known:
        text = f"its manifest has the media type {shown(document['mediaType'])}, which is not known; push it again"
        raise PackageError("Malformed", f"{what}: {text}")
    if problem or (not is_index and document.get("schemaVersion", 2) != 2):
        raise PackageError("Malformed", f"{what}: its manifest: {problem or 'it is of another version than 2'}")
    if is_index:
        return Index([_descriptor(what, entry) for entry in document["manifests"]])
    config = _descriptor(what, document["config"])
    layers = [_descriptor(what, layer) for layer in document["layers"]]
    return Manifest(
        document.get("artifactType") or config.media_type, config, layers, document.get("annotations") or {}
    )


def choose_manifest(what: str, index: Index, wanted: str) -> Descriptor:
    """The manifest of an architecture, or the only one. Raises PackageError with the reason NotFound.

    What has an unknown platform is a statement about the others (https://docs.docker.com/build/metadata/attestations).
    """
    manifests = [entry for entry in index.manifests if entry.platform != "unknown/unknown"]
    fitting = [entry for entry in manifests if entry.platform == wanted] or manifests
    if len(fitting) == 1 or (fitting and fitting[0].platform == wanted):
        return fitting[0]
    names = ", ".join(sorted({entry.platform or "without one" for entry in manifests})) or "none"
    raise PackageError("NotFound", f"{what}: it has manifests for {names}, not for {wanted}; push one for it")


def require_content(what: str, descriptor: Descriptor, digest: str, size: int) -> None:
    """Raises PackageError with the reason DigestMismatch unless content is what its descriptor says."""
    if (digest, size) != (descriptor.digest, descriptor.size):
        text = f"content with the digest {descriptor.digest} has {digest}; it is damaged or exchanged, push it again"
        if digest == descriptor.digest:
            text = f"{descriptor.digest} has {size:,} bytes, not {descriptor.size:,} as in its manifest; push it again"
        raise PackageError("DigestMismatch", f"{what}: {text}")


def _load(what: str, data: bytes) -> JSON:
    if len(data) > LARGEST_MANIFEST:
        raise PackageError("TooLarge", f"{what}: its manifest has more than {in_units(LARGEST_MANIFEST)}")
    try:
        return loads(data, PACKAGE_TEXT)
    except ValueError as error:
        raise PackageError("Malformed", f"{what}: its manifest is no JSON that can be used: {error}") from None


def _descriptor(what: str, value: Mapping[str, JSON]) -> Descriptor:
    if not is_digest(value["digest"]):
        text = f"its manifest has the digest {shown(value['digest'])}; only sha256 is supported, push it again"
        raise PackageError("Malformed", f"{what}: {text}")
    place = value.get("platform") or {}
    name = f"{place.get('os', '')}/{place.get('architecture', '')}" if place else ""
    annotations, artifact_type = value.get("annotations") or {}, value.get("artifactType") or ""
    return Descriptor(value["mediaType"], value["digest"], value["size"], annotations, name, artifact_type)
