"""Locations in OCI registries and image layouts: `oci://HOST[:PORT]/PATH` and `oci-layout:PATH`.

    location = parse_registry_location("oci://registry.example.com/addons", plain_http=False)
    location.at("v1.34.2")                      # `{kubernetes}` in the path is the cluster's version

`oci+http://` is a registry without TLS: on this machine, or anywhere with --addon-verify off, as `http://` for web
servers. Nothing is tried in both ways. A location has no tag: tags are versions and channels.
Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests
"""

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from hookrunner.packages.channels import release_of
from hookrunner.packages.names import shown
from hookrunner.packages.web_addresses import check_base
from kubetypes.light_dataclasses import dataclass

REGISTRY, PLAIN_REGISTRY, LAYOUT = "oci://", "oci+http://", "oci-layout:"

_PART = re.compile(r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*")
_FORM = "write oci://HOST[:PORT]/PATH, in lowercase and without a tag"


@dataclass(frozen=True, slots=True)
class RegistryLocation:
    """Repositories below a path of a registry. `server` is its URL, without a path."""

    server: str
    path: str

    def at(self, kubernetes: str) -> "RegistryLocation":
        """The same for a cluster of this version."""
        return replace(self, path=self.path.replace("{kubernetes}", release_of(kubernetes).removeprefix("v")))

    def __str__(self) -> str:
        scheme, _, host = self.server.partition("://")
        return f"{REGISTRY if scheme == 'https' else PLAIN_REGISTRY}{host}/{self.path}"


@dataclass(frozen=True, slots=True)
class LayoutLocation:
    """An image layout on this machine: a directory, a tar archive, or a directory with a layout for each component."""

    path: Path

    def __str__(self) -> str:
        return f"{LAYOUT}{self.path}"


def parse_registry_location(text: str, plain_http: bool) -> RegistryLocation:
    """The location that a text means. Raises ValueError with what is wrong and how to write it."""
    scheme = "http" if text.startswith(PLAIN_REGISTRY) else "https"
    host, slash, path = text.partition("://")[2].partition("/")
    if "@" in host:
        raise ValueError("a registry's location has no user and password; --addon-credentials names a file with them")
    server = f"{scheme}://{host}"
    check_base(server, plain_http)
    path = path.rstrip("/")
    if not slash or not all(is_repository_part(part) for part in path.replace("{kubernetes}", "k").split("/")):
        raise ValueError(f"{shown(path)} is no path of a repository; {_FORM}")
    return RegistryLocation(f"{scheme}://{urlsplit(server).netloc}", path)


def is_repository_part(name: str) -> bool:
    """Can this be a part of a repository's name?"""
    return _PART.fullmatch(name) is not None
