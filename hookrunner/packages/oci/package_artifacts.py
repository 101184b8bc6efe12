"""What an artifact or image is, and the files of the channel or package in it.

| is | by | files |
|---|---|---|
| package | artifact type `application/vnd.hookrunner.addon.package.v1` | layers with a title: files; others: archives |
| channel | artifact type `application/vnd.hookrunner.addon.channel.v1` | its layer; `*.sig` is its signature |
| chart | Helm's config | the archive that `helm push` wrote, without its first directory |
| image | an image's config | the directory that labels name, or `metadata/annotations.yaml` in the image, which wins |

`oras push` writes the first two; for a directory it writes an archive in which paths begin with the directory's name,
and says so in an annotation. The labels are those of Operator Lifecycle Manager's bundles and of others that follow
them: `PREFIX.bundle.manifests.v1` and `PREFIX.bundle.metadata.v1` are directories, `PREFIX.mediatype.v1` says what is
in the first.
Source: https://olm.operatorframework.io/docs/tasks/creating-operator-bundle/, https://oras.land/docs/
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hookrunner.errors import PackageError
from hookrunner.packages.names import LARGEST_FILE, LARGEST_TRANSFER, shown
from hookrunner.packages.oci.layer_files import unpack_layers
from hookrunner.packages.oci.manifests import TITLE, Descriptor, Manifest
from hookrunner.packages.package_files import SIGNATURE_SUFFIX, PackageFiles, path_problem, refusal
from hookrunner.shapes import TEXTS, Table, check
from kubetypes.bounds import PACKAGE_TEXT, in_units
from kubetypes.json_values import JSON, loads
from kubetypes.yaml_values import YAML_1_2, BadDocument, documents

PACKAGE_TYPE = "application/vnd.hookrunner.addon.package.v1"
CHANNEL_TYPE = "application/vnd.hookrunner.addon.channel.v1"
CHART_TYPE = "application/vnd.cncf.helm.config.v1+json"
IMAGE_TYPES = frozenset({"application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"})
UNPACK = "io.deis.oras.content.unpack"
"""Annotation by which `oras push` marks a layer with a title as an archive."""

_CHART_LAYERS = frozenset({"application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"})
_ARCHIVE = re.compile(r".*[./+-]tar([.+-]?(gzip|gz|zstd))?")
_LABEL = re.compile(r".+\.(bundle\.(?P<key>manifests|metadata)|(?P<type>mediatype))\.v\d+")
_ANNOTATIONS = "annotations.yaml"
_MEDIA_TYPES = frozenset({"registry+v1", "plain", "plain+v0", "plain+v1", "manifests", "helm", "helm+v0", "helm+v1"})
_CONFIG = Table({"config": Table({"Labels": TEXTS}, open=True)}, open=True)

Blobs = Mapping[str, Path]
"""Files with blobs, by digest."""


def channel_layer(what: str, manifest: Manifest) -> Descriptor:
    """The layer that is a channel's text. Raises PackageError with the reason Malformed."""
    if manifest.artifact_type != CHANNEL_TYPE:
        text = f"it has the type {shown(manifest.artifact_type)}; push it with --artifact-type {CHANNEL_TYPE}"
        raise PackageError("Malformed", f"{what}: {text}")
    layers = [layer for layer in manifest.layers if not _is_signature(layer)]
    if len(layers) != 1:
        raise PackageError("Malformed", f"{what}: it has {len(layers)} files; push the channel and its signature alone")
    return layers[0]


def channel_signature_layer(manifest: Manifest) -> Descriptor | None:
    """The layer with a channel's signature; None without one."""
    return next(filter(_is_signature, manifest.layers), None)


def titled_layer(manifest: Manifest, title: str) -> Descriptor | None:
    """The layer that is a file of a package; None without one, or if only unpacking tells."""
    if manifest.artifact_type != PACKAGE_TYPE:
        return None
    return next((layer for layer in manifest.layers if layer.annotations.get(TITLE) == title), None)


def _is_signature(layer: Descriptor) -> bool:
    return layer.annotations.get(TITLE, "").endswith(SIGNATURE_SUFFIX)


def needed_blobs(package: str, manifest: Manifest) -> Sequence[Descriptor]:
    """What must be read before `unpack_package`. Raises PackageError: Malformed for what is no package, TooLarge."""
    if manifest.artifact_type == PACKAGE_TYPE:
        blobs = list(manifest.layers)
    elif manifest.artifact_type == CHART_TYPE:
        blobs = [layer for layer in manifest.layers if layer.media_type in _CHART_LAYERS]
        if len(blobs) != 1:
            raise refusal(package, "Malformed", f"it has {len(blobs)} charts in it; push one with `helm push`")
    elif manifest.artifact_type in IMAGE_TYPES:
        blobs = [manifest.config, *manifest.layers]
    else:
        text = f"it has the type {shown(manifest.artifact_type)}, which is no package: push files with --artifact-type"
        raise refusal(package, "Malformed", f"{text} {PACKAGE_TYPE}, a chart, or an image with bundle labels")
    if sum(blob.size for blob in blobs) > LARGEST_TRANSFER:
        raise refusal(package, "TooLarge", f"its layers have more than {in_units(LARGEST_TRANSFER)}")
    return blobs


def has_archives(manifest: Manifest) -> bool:
    """Is there anything to unpack? Otherwise each layer is a file."""
    return manifest.artifact_type != PACKAGE_TYPE or not all(map(_is_file, manifest.layers))


def unpack_artifact(package: str, manifest: Manifest, blobs: Blobs) -> Mapping[str, bytes]:
    """The files of a package. Blocks. Raises PackageError: Malformed, TooLarge."""
    if manifest.artifact_type == PACKAGE_TYPE:
        files = _unpack_own(package, manifest, blobs)
    elif manifest.artifact_type == CHART_TYPE:
        unpacked = unpack_layers(package, [blobs[layer.digest] for layer in needed_blobs(package, manifest)])
        files = {path.partition("/")[2]: data for path, data in unpacked.items() if "/" in path}
    else:
        files = _unpack_image(package, manifest, blobs)
    bounded = PackageFiles(package)
    for path, data in files.items():
        bounded.add(path, data)
    return bounded.by_path


def _is_file(layer: Descriptor) -> bool:
    return bool(layer.annotations.get(TITLE)) and layer.annotations.get(UNPACK) != "true"


def _unpack_own(package: str, manifest: Manifest, blobs: Blobs) -> dict[str, bytes]:
    files, archives = PackageFiles(package), list[Path]()
    for layer in manifest.layers:
        if _is_file(layer):
            with open(blobs[layer.digest], "rb") as file:
                files.add(layer.annotations[TITLE], file.read(LARGEST_FILE + 1))
        else:
            archives.append(_archive(package, layer, blobs))
    for path, data in unpack_layers(package, archives).items():
        files.add(path, data)
    return files.by_path


def _unpack_image(package: str, manifest: Manifest, blobs: Blobs) -> dict[str, bytes]:
    """The files below the directory of the manifests. The layers are read twice: the first time for the annotations."""
    labels = _parse_labels(package, blobs[manifest.config.digest].read_bytes())
    names = _directories(package, labels)
    annotations = unpack_layers(package, _archives(package, manifest, blobs), names.get("metadata", "metadata"))
    names |= _directories(package, _parse_annotations(package, annotations.get(_ANNOTATIONS, b"")))
    if "manifests" not in names:
        text = "it is an image without labels of a bundle, and without metadata/annotations.yaml; add them"
        raise refusal(package, "Malformed", text)
    if names.get("mediatype", "plain") not in _MEDIA_TYPES:
        text = f"its bundle has the media type {shown(names['mediatype'])}; known are {', '.join(sorted(_MEDIA_TYPES))}"
        raise refusal(package, "Malformed", text)
    return unpack_layers(package, _archives(package, manifest, blobs), names["manifests"])


def _archives(package: str, manifest: Manifest, blobs: Blobs) -> list[Path]:
    return [_archive(package, layer, blobs) for layer in manifest.layers]


def _archive(package: str, layer: Descriptor, blobs: Blobs) -> Path:
    if not _ARCHIVE.fullmatch(layer.media_type):
        text = f"a layer has the media type {shown(layer.media_type)}, which is no archive; give it a title, or pack it"
        raise refusal(package, "Malformed", text)
    return blobs[layer.digest]


def _directories(package: str, labels: Mapping[str, str]) -> dict[str, str]:
    """What labels say: the media type, and the directories `manifests` and `metadata`. Raises PackageError."""
    names: dict[str, str] = {}
    for label, text in sorted(labels.items()):
        if match := _LABEL.fullmatch(label):
            names[match["key"] or match["type"]] = text
    if "manifests" not in names and "mediatype" in names and names["mediatype"] == "manifests":
        names["manifests"] = "manifests"
    for key in names.keys() - {"mediatype"}:
        names[key] = names[key].removeprefix("./").strip("/")
        if problem := path_problem(names[key]):
            raise refusal(package, "Malformed", f"its label for the directory of {key} {problem}")
    return names


def _parse_labels(package: str, config: bytes) -> dict[str, str]:
    try:
        document: JSON = loads(config, PACKAGE_TEXT)
    except ValueError as error:
        raise refusal(package, "Malformed", f"the config of its image is no JSON that can be used: {error}") from None
    inner = document.get("config") if isinstance(document, dict) else None
    labels = {"config": {"Labels": (inner.get("Labels") if isinstance(inner, dict) else inner) or {}}}
    if problem := next(check(labels, _CONFIG), None):
        raise refusal(package, "Malformed", f"the config of its image: {problem}")
    return labels["config"]["Labels"]


def _parse_annotations(package: str, text: bytes) -> dict[str, str]:
    try:
        found = next(documents(text, YAML_1_2, PACKAGE_TEXT), None)
    except BadDocument as error:
        raise refusal(package, "Malformed", f"metadata/{_ANNOTATIONS}: {error}") from None
    annotations = found.get("annotations") or {} if isinstance(found, dict) else {}
    if problem := next(check(annotations, TEXTS), None):
        raise refusal(package, "Malformed", f"metadata/{_ANNOTATIONS}: annotations: {problem}")
    return dict(annotations)
