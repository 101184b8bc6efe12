"""Where channels and packages come from, as `source` in addon.yaml and the flag --addon-source write it.

    location = parse_location("configmap:addons", base=Path("/addons/coredns"))
    sources = parse_overrides("coredns=https://example.com/addons,dashboard=file:/srv/addons", base=Path.cwd())

| text | location |
|---|---|
| `PATH`, `file:PATH` | a directory; a relative path is relative to the base |
| `https://BASE`, `http://BASE` | a web server; `{kubernetes}` stands for the cluster's version |
| `git::URL[//SUB][?ref=REF]` | a directory of a git repository, at a branch, tag or commit (`git_locations.py`) |
| `oci://HOST/PATH`, `oci+http://HOST/PATH`, `oci-layout:PATH` | OCI repositories (`oci_locations.py`) |
| `configmap:NS[/NAME]`, `secret:NS[/NAME]` | objects in a namespace; NAME has the channels |

Locations are set by the operator of hookrunner, never by the author of an instance, who could otherwise install
anything with hookrunner's rights.
Source: docs/packaging-addons.md
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from itertools import chain
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from hookrunner.errors import BadSetting
from hookrunner.model.addons import Addon
from hookrunner.packages.git_locations import GIT, GitLocation, parse_git_location
from hookrunner.packages.mirrors import Mirrors, parse_mirrors
from hookrunner.packages.names import is_component, shown
from hookrunner.packages.oci_locations import (
    LAYOUT,
    PLAIN_REGISTRY,
    REGISTRY,
    LayoutLocation,
    RegistryLocation,
    parse_registry_location,
)
from hookrunner.packages.package import Package
from hookrunner.packages.package_files import Seal, Statement
from hookrunner.packages.web_addresses import check_base, without_credentials
from hookrunner.settings import AddonsSettings
from kubetypes.light_dataclasses import dataclass

DEFAULT_CHANNELS = "addon-channels"
_NO_MIRRORS = Mirrors()


class PackageSource(Protocol):
    """Reads channels and packages. `location` names it in messages, without credentials; what is remote must be
    verified. What is pinned is checked against digests of the source's own, so it needs no list of checksums.
    Everything raises PackageError."""

    @property
    def location(self) -> str: ...

    @property
    def is_remote(self) -> bool: ...

    @property
    def is_pinned(self) -> bool: ...

    @property
    def commit(self) -> str:
        """The git commit that was read; empty for other sources."""
        ...

    async def read_channel(self, name: str) -> str:
        """A channel's text."""
        ...

    async def read_channel_signature(self, name: str) -> bytes:
        """The signature of a channel, in base64; empty without one."""
        ...

    async def list_versions(self, component: str) -> list[str]:
        """The versions of a component that have a package, the newest first; none if the source cannot list them."""
        ...

    async def read_digest(self, component: str, version: str) -> str:
        """The digest of a package; empty if it is not known without reading the package."""
        ...

    async def read_seal(self, component: str, version: str) -> Seal:
        """What may be signed of a package; empty also if there is no such package."""
        ...

    async def read_package(self, component: str, version: str) -> Package:
        """One package, checked against its own list of checksums."""
        ...


@runtime_checkable
class StatementSource(Protocol):
    """A source that has other signatures of channels, too: a registry."""

    async def read_channel_statements(self, name: str, text: str) -> tuple[Statement, ...]:
        """Signed texts that are about the channel with just this text. Raises PackageError."""
        ...


@dataclass(frozen=True, slots=True)
class DirectoryLocation:
    """A directory on this machine. `is_of_addon` says that it is a part of an addon's directory, whose programs run."""

    path: Path
    is_of_addon: bool = False

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class WebLocation:
    """The address below which a web server has channels and packages."""

    url: str

    def __str__(self) -> str:
        return without_credentials(self.url)


@dataclass(frozen=True, slots=True)
class ClusterLocation:
    """ConfigMaps or Secrets of a namespace. `channels` is the name of the one with the channels."""

    kind: Literal["ConfigMap", "Secret"]
    namespace: str
    channels: str = DEFAULT_CHANNELS

    def __str__(self) -> str:
        return f"{self.kind.lower()}:{self.namespace}/{self.channels}"


SourceLocation: TypeAlias = (
    DirectoryLocation | WebLocation | GitLocation | ClusterLocation | RegistryLocation | LayoutLocation
)

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/"""
_LIKE_GIT = re.compile(r"git@|ssh://|git://|(?!https?://).*\.git(//|\?|$)")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_FORMS = (
    "write a path, file:PATH, https://HOST/PATH, git::https://HOST/PATH, oci://HOST/PATH, oci-layout:PATH, "
    "configmap:NAMESPACE[/NAME] or secret:NAMESPACE[/NAME]"
)


@dataclass(frozen=True, slots=True)
class SourceOverrides:
    """What --addon-source says: one location for every addon, or one for each of some."""

    every: SourceLocation | None = None
    by_addon: Mapping[str, SourceLocation] = field(default_factory=dict)

    def location_of(self, addon: str, own: SourceLocation) -> SourceLocation:
        """The location for an addon whose addon.yaml names `own`."""
        return self.by_addon.get(addon, self.every or own)


def overrides_of(settings: AddonsSettings) -> SourceOverrides:
    """What --addon-source says of a start, in mirrors. Raises BadSetting."""
    mirrors, plain_http = mirrors_of(settings), settings.verify == "off"
    try:
        return parse_overrides(settings.source, Path.cwd(), plain_http, mirrors)
    except ValueError as error:
        raise BadSetting(f"--addon-source: {error}") from None


def mirrors_of(settings: AddonsSettings) -> Mirrors:
    """What --addon-mirror says of a start. Raises BadSetting, also for a mirror that is no location."""
    try:
        mirrors = parse_mirrors(settings.mirrors, Path.cwd())
        for mirror in mirrors.by_origin.values():
            parse_location(mirror, Path.cwd(), settings.verify == "off")
        return mirrors
    except ValueError as error:
        raise BadSetting(f"--addon-mirror: {error}") from None


def locations_of(addons: Iterable[Addon], settings: AddonsSettings) -> dict[str, SourceLocation | str]:
    """Where addons have their packages, in mirrors where there are some, by the names of the addons; or why a location
    cannot be read. Raises BadSetting."""
    overrides, mirrors, plain_http = overrides_of(settings), mirrors_of(settings), settings.verify == "off"
    locations: dict[str, SourceLocation | str] = {}
    for addon in addons:
        try:
            own = parse_location(mirrors.moved(addon.source), addon.directory, plain_http)
            locations[addon.name] = overrides.location_of(addon.name, _marked_own(own, addon))
        except ValueError as error:
            locations[addon.name] = f"source of the addon '{addon.name}': {error}"
    return locations


def _marked_own(location: SourceLocation, addon: Addon) -> SourceLocation:
    """The location, as one of an addon if it is in its directory or in that of another one beside it, also when links
    are followed."""
    if isinstance(location, DirectoryLocation):
        directories = chain([addon.directory], (file.parent for file in addon.root.glob("*/addon.yaml")))
        path = location.path.resolve()
        is_of_addon = any(path.is_relative_to(directory.resolve()) for directory in directories)
        return DirectoryLocation(location.path, is_of_addon)
    return location


def parse_overrides(text: str, base: Path, plain_http: bool = False, mirrors: Mirrors = _NO_MIRRORS) -> SourceOverrides:
    """The value of --addon-source: empty, `LOCATION` or `NAME=LOCATION,…`. Raises ValueError with what is wrong."""
    name, equals, _ = text.partition("=")
    if not (equals and is_component(name)):
        return SourceOverrides(parse_location(mirrors.moved(text), base, plain_http)) if text else SourceOverrides()
    by_addon: dict[str, SourceLocation] = {}
    for pair in filter(None, text.split(",")):
        name, equals, location = pair.partition("=")
        if not (equals and is_component(name)):
            raise ValueError(
                f"{shown(without_credentials(pair))} is no NAME=LOCATION; write one location, or NAME=LOCATION,… only"
            )
        if name in by_addon:
            raise ValueError(f"the addon {name} has two locations; remove one")
        by_addon[name] = parse_location(mirrors.moved(location), base, plain_http)
    return SourceOverrides(by_addon=by_addon)


def parse_location(text: str, base: Path, plain_http: bool = False) -> SourceLocation:
    """The location that a text means. `plain_http` allows http:// to other machines. Raises ValueError with what is
    wrong and how to write it."""
    if not text or "\0" in text:
        raise ValueError(f"a source cannot be empty; {_FORMS}")
    if text.startswith(GIT):
        return parse_git_location(text, base, plain_http)
    if _LIKE_GIT.match(text):
        raise ValueError("a git repository is written git::https://HOST/PATH or git::file:PATH; ssh is not supported")
    if text.startswith("bundle:"):
        raise ValueError(f"cluster bundles (bundle.gke.io) are not read: put their objects into ConfigMaps; {_FORMS}")
    if text.startswith((REGISTRY, PLAIN_REGISTRY)):
        return parse_registry_location(text, plain_http)
    if text.startswith(LAYOUT):
        return LayoutLocation(base / text.removeprefix(LAYOUT))
    scheme = match[1] if (match := _SCHEME.match(text)) else ""
    match scheme:
        case "" | "file":
            return DirectoryLocation(base / text.removeprefix("file://").removeprefix("file:"))
        case "https" | "http":
            return _parse_url(text, plain_http)
        case "configmap" | "secret":
            return _parse_objects(scheme, text.removeprefix(f"{scheme}:"))
    raise ValueError(f"'{scheme}:' is no kind of source; {_FORMS}")


def _parse_url(text: str, plain_http: bool) -> WebLocation:
    url = text.rstrip("/")
    check_base(url, plain_http)
    return WebLocation(url)


def _parse_objects(scheme: str, place: str) -> ClusterLocation:
    namespace, slash, name = place.partition("/")
    if not _NAMESPACE.fullmatch(namespace) or (slash and not _NAME.fullmatch(name)):
        raise ValueError(f"'{scheme}:' takes the names of a namespace and an object: {scheme}:addons/my-channels")
    return ClusterLocation("ConfigMap" if scheme == "configmap" else "Secret", namespace, name or DEFAULT_CHANNELS)
