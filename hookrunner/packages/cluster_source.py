"""ConfigMaps or Secrets of a namespace as a source.

    source = ClusterSource(ClusterLocation("ConfigMap", "addons"), client)
    package = await source.read_package("coredns", "1.14.6")

Channels are keys of one object. A package is the objects with the labels `hookrunner.io/package` and
`hookrunner.io/package-version`; their keys are files. Several objects can form one package: an object holds at most
1 MiB, and a key no `/`, so the annotation `hookrunner.io/package-directory` says in which directory of the package an
object's files lie. A label holds no `+`; `_` stands for it, as Helm writes versions in labels.

Objects are read when they are asked for, by pages, and never kept: `watched_selections` says what to watch for changes.
Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
"""

import base64
import binascii
import re
from collections.abc import AsyncIterator
from contextlib import aclosing

from hookrunner.errors import ApiError, Denied, KubeError, NotFound, PackageError
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ListOptions, ObjectRef
from hookrunner.model.resources import Resource, Selection
from hookrunner.packages.channels import decode_channel, version_order
from hookrunner.packages.names import is_version, require_channel, require_component, require_package
from hookrunner.packages.package import Package, parse_package
from hookrunner.packages.package_files import (
    CHECKSUMS,
    CHECKSUMS_SIGNATURE,
    SIGNATURE_SUFFIX,
    PackageFiles,
    Seal,
    seal_of,
)
from hookrunner.packages.source_locations import ClusterLocation
from hookrunner.shapes import suggestion
from kubetypes.json_values import JSON

PACKAGE_LABEL = "hookrunner.io/package"
VERSION_LABEL = "hookrunner.io/package-version"
DIRECTORY_ANNOTATION = "hookrunner.io/package-directory"

_PAGE = 16
"""Objects of up to 1.5 MiB each, in one answer."""
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


def watched_selections(location: ClusterLocation) -> tuple[Selection, ...]:
    """What to watch so that a change of a channel or a package is noticed: metadata is enough."""
    channels = f"metadata.name={location.channels}"
    return (
        Selection("v1", location.kind, location.namespace, fields=channels, metadata_only=True),
        Selection("v1", location.kind, location.namespace, labels=PACKAGE_LABEL, metadata_only=True),
    )


class ClusterSource:
    """Channels and packages of one namespace."""

    is_remote = False
    is_pinned = False
    commit = ""

    def __init__(self, location: ClusterLocation, client: Client) -> None:
        self.location = str(location)
        self._channels = location.channels
        self._resource = Resource("v1", location.kind, f"{location.kind.lower()}s", True)
        self._namespace = location.namespace
        self._client = client

    async def read_channel(self, name: str) -> str:
        """A channel's text. Raises PackageError: NoChannel, Unreachable, Malformed, TooLarge."""
        what = f"channel '{name}' in {self.location}"
        texts = await self._read_channels(name, what)
        text = texts.get(name)
        if text is None:
            problem = f"the object has no such key; add it or name another channel{suggestion(name, texts)}"
            raise PackageError("NoChannel", f"{what}: {problem}")
        return decode_channel(name, text)

    async def read_channel_signature(self, name: str) -> bytes:
        """A channel's signature, empty without one. Raises PackageError: NoChannel, Unreachable, Malformed."""
        texts = await self._read_channels(name, f"signature of the channel '{name}' in {self.location}")
        return texts.get(name + SIGNATURE_SUFFIX, b"")

    async def _read_channels(self, name: str, what: str) -> dict[str, bytes]:
        """The keys of the object with the channels, among them perhaps the one of this name. Raises PackageError."""
        require_channel(name)
        try:
            holder = await writes.read(self._client, ObjectRef(self._resource, self._namespace, self._channels))
        except NotFound:
            raise PackageError("NoChannel", f"{what}: the object does not exist; make it or name another") from None
        except KubeError as error:
            raise self._unreachable(what, error) from error
        return dict(_contents(holder))

    async def list_versions(self, component: str) -> list[str]:
        """The versions of a component that have a package, the newest first; `_` stands for a `+`. Raises PackageError:
        Unreachable."""
        require_component(component)
        versions: set[str] = set()
        if _LABEL.fullmatch(component):
            options = ListOptions(f"{PACKAGE_LABEL}={component}", metadata_only=True, limit=_PAGE)
            async for obj in self._list(f"component {component}", options):
                versions.add(obj["metadata"].get("labels", {}).get(VERSION_LABEL, ""))
        return sorted(sorted(filter(is_version, versions)), key=version_order, reverse=True)

    async def read_digest(self, component: str, version: str) -> str:
        """Empty: it is not known without the package."""
        require_package(component, version)
        return ""

    async def read_seal(self, component: str, version: str) -> Seal:
        """The list of checksums and its signature. Raises PackageError: Unreachable, Malformed, TooLarge."""
        files = (await self._read_files(component, version))[0].by_path
        return seal_of(f"{component} {version}", files.get(CHECKSUMS), files.get(CHECKSUMS_SIGNATURE))

    async def read_package(self, component: str, version: str) -> Package:
        """One package. Raises PackageError: NotFound, Unreachable, Malformed, TooLarge, DigestMismatch."""
        files, has_objects = await self._read_files(component, version)
        if not has_objects:
            near = suggestion(version, await self.list_versions(component) if _selector(component, version) else ())
            text = f"no object in {self.location} has its labels; use another version or add it{near}"
            raise files.refusal("NotFound", text)
        return parse_package(component, version, files.by_path)

    async def _read_files(self, component: str, version: str) -> tuple[PackageFiles, bool]:
        """The files of a package, and whether any object is one of it. Raises PackageError."""
        require_package(component, version)
        files, has_objects = PackageFiles(f"{component} {version}"), False
        if selector := _selector(component, version):
            async for obj in self._list(f"package {files.package}", ListOptions(selector, limit=_PAGE)):
                has_objects = True
                _add_files(obj, files)
        return files, has_objects

    async def _list(self, what: str, options: ListOptions) -> AsyncIterator[JSON]:
        """The objects that `options` describe, by pages."""
        of_namespace = ObjectRef(self._resource, self._namespace)
        try:
            async with aclosing(writes.read_pages(self._client, of_namespace, options)) as pages:
                async for page in pages:
                    for obj in page:
                        yield obj
        except KubeError as error:
            raise self._unreachable(f"{what} in {self.location}", error) from error

    def _unreachable(self, what: str, error: KubeError) -> PackageError:
        mend = f"; hookrunner needs the rights get, list and watch on {self._resource.plural} there"
        status = f"HTTP {error.status} " if isinstance(error, ApiError) else ""
        return PackageError("Unreachable", f"{what}: {status}{error}{mend if isinstance(error, Denied) else ''}")


def _selector(component: str, version: str) -> str:
    """Of the objects of a package; empty for what no label can be."""
    label = version.replace("+", "_")
    is_label = _LABEL.fullmatch(component) and _LABEL.fullmatch(label)
    return f"{PACKAGE_LABEL}={component},{VERSION_LABEL}={label}" if is_label else ""


def _add_files(obj: JSON, files: PackageFiles) -> None:
    metadata = obj["metadata"]
    directory = (metadata.get("annotations") or {}).get(DIRECTORY_ANNOTATION, "").rstrip("/")
    for key, data in _contents(obj):
        files.add(f"{directory}/{key}" if directory else key, data)


def _contents(obj: JSON) -> list[tuple[str, bytes]]:
    """The keys of a ConfigMap or Secret with their bytes, sorted. Objects of a list have no kind."""
    try:
        if "type" in obj:
            contents = _decode(obj.get("data"))
        else:
            texts = (obj.get("data") or {}).items()
            contents = {key: text.encode() for key, text in texts} | _decode(obj.get("binaryData"))
    except (binascii.Error, ValueError) as error:
        raise PackageError(
            "Malformed", f"object {obj['metadata'].get('name')}: a value is not base64: {error}"
        ) from None
    return sorted(contents.items())


def _decode(data: JSON) -> dict[str, bytes]:
    return {key: base64.b64decode(text, validate=True) for key, text in (data or {}).items()}
