"""Names and bounds of what a source of packages holds (docs/packaging-addons.md).

    require_channel("stable")           # raises PackageError before a name becomes part of a path, a URL or a selector
    require_package("coredns", "1.14.6")

A channel's and a version's name may come from an object of a user, a component's from `addon.yaml` and from channels
of other people. So each is checked wherever a path, a URL or a selector is made of it, whatever was checked before.
The patterns are also those of the fields `channel` and `version` in the CRDs of addons.
"""

import re

from hookrunner.errors import PackageError
from kubetypes.bounds import PACKAGE_TEXT

LONGEST_NAME = 63
CHANNEL_PATTERN = "[a-z0-9][a-z0-9-]*"
COMPONENT_PATTERN = "[a-z0-9][a-z0-9.-]*"
VERSION_PATTERN = "[A-Za-z0-9][A-Za-z0-9.+_-]*"

MOST_FILES = 1000
"""Files of one package, and directories."""
LARGEST_FILE = 5 << 20
LARGEST_PACKAGE = 32 << 20
LARGEST_TRANSFER = LARGEST_PACKAGE
LARGEST_UNPACKED = 4 * LARGEST_PACKAGE
MOST_ENTRIES = 20 * MOST_FILES
"""What an archive is, and a commit of a repository: bytes of what is sent for it, bytes when it is unpacked, files and
directories in it."""
LARGEST_CHANNEL = PACKAGE_TEXT.size
"""Bytes. A file of checksums is bounded as a channel is."""

LONGEST_SIGNATURE = 4096
"""Bytes of a file with a signature in base64; those of the allowed keys have about 100."""

_CHANNEL = re.compile(CHANNEL_PATTERN)
_COMPONENT = re.compile(COMPONENT_PATTERN)
_VERSION = re.compile(VERSION_PATTERN)


def is_channel(name: str) -> bool:
    """Whether this can be a channel's name: lowercase letters, digits and `-`."""
    return _is_name(_CHANNEL, name)


def is_component(name: str) -> bool:
    """Whether this can be a component's name: lowercase letters, digits, `.` and `-`."""
    return _is_name(_COMPONENT, name)


def is_version(name: str) -> bool:
    """Whether this can name a version: letters, digits, `.`, `+`, `_` and `-`."""
    return _is_name(_VERSION, name)


def require_channel(name: str) -> None:
    """Raises PackageError with the reason NoChannel if this is no channel's name."""
    if not is_channel(name):
        text = "a channel's name has lowercase letters, digits and '-'"
        raise PackageError("NoChannel", f"{shown(name)} names no channel: {text}, {_ALSO}")


def require_component(component: str) -> None:
    """Raises PackageError with the reason Malformed if this is no component's name."""
    if not is_component(component):
        text = "a component's name has lowercase letters, digits, '.' and '-'"
        raise PackageError("Malformed", f"{shown(component)} names no component: {text}, {_ALSO}")


def require_package(component: str, version: str) -> None:
    """Raises PackageError unless both can be names: with the reason Malformed for the component, NoVersion for the
    version."""
    require_component(component)
    if not is_version(version):
        text = "a version has letters, digits, '.', '+', '_' and '-'"
        raise PackageError("NoVersion", f"{shown(version)} is no version of {component}: {text}, {_ALSO}")


def shown(name: str) -> str:
    """A name in quotes for a message, without its end if it is too long."""
    return repr(name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…")


_ALSO = f"at most {LONGEST_NAME} in all, begins with a letter or a digit and has no '..'"


def _is_name(pattern: re.Pattern[str], name: str) -> bool:
    return len(name) <= LONGEST_NAME and ".." not in name and pattern.fullmatch(name) is not None
