"""Collects the files of one package within the bounds of every source, by paths that stay in any directory.

    files = PackageFiles("coredns 1.14.6")
    files.add("templates/service.yaml", data)   # raises PackageError
    package = parse_package("coredns", "1.14.6", files.by_path)

Directories, web servers and ConfigMaps fill it alike, so that the same package is refused with the same words wherever
it lies. A source reads at most `names.LARGEST_FILE + 1` bytes of a file: enough to know that it is too large.
"""

import re
from pathlib import PurePosixPath

from hookrunner.errors import PackageError, PackageReason
from hookrunner.packages.names import LARGEST_FILE, LARGEST_PACKAGE, MOST_FILES, shown
from kubetypes.bounds import in_units

_LONGEST_PATH = 255
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]")
"""`sha256sum` writes paths with a backslash or a line break in a form of its own, and a terminal obeys the rest."""


class PackageFiles:
    """The files so far, by their path in the package. `package` names it in messages."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.by_path: dict[str, bytes] = {}
        self._size = 0

    def add(self, path: str, data: bytes) -> None:
        """Take one file. Raises PackageError with the reason Malformed for a path that is unsafe or taken, TooLarge
        beyond a bound."""
        self.require_path(path)
        if path in self.by_path:
            raise self.refusal("Malformed", f"has the file {shown(path)} twice; remove one of them")
        if len(data) > LARGEST_FILE:
            raise self.refusal("TooLarge", f"the file {shown(path)} has more than {in_units(LARGEST_FILE)}")
        if len(self.by_path) >= MOST_FILES:
            raise self.refusal("TooLarge", f"has more than {MOST_FILES:,} files")
        self._size += len(data)
        if self._size > LARGEST_PACKAGE:
            raise self.refusal("TooLarge", f"has more than {in_units(LARGEST_PACKAGE)}")
        self.by_path[path] = data

    def require_path(self, path: str) -> None:
        """Raises PackageError for a path that no package may have."""
        if problem := path_problem(path):
            raise self.refusal("Malformed", f"the path {shown(path)} {problem}")

    def refusal(self, reason: PackageReason, problem: str) -> PackageError:
        """The error to raise; the message begins with the package."""
        return PackageError(reason, f"package {self.package}: {problem}")


def path_problem(path: str) -> str:
    """What is wrong with a path in a package, to follow it in a message; empty if nothing is."""
    if not path or path.startswith("/") or path != str(PurePosixPath(path)):
        return "is no plain relative path; write it like templates/service.yaml"
    if any(part.startswith("..") for part in path.split("/")):
        return "leads upwards, or begins a name with two dots; rename it"
    if _UNSAFE.search(path):
        return "has a control character or a backslash; rename it"
    if len(path.encode(errors="replace")) > _LONGEST_PATH:
        return f"has more than {_LONGEST_PATH} bytes; shorten it"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "is not UTF-8; rename it"
    return ""


def nested_file(paths: frozenset[str]) -> str:
    """A path that is a file and, in another path, a directory; empty without one. No directory can hold both."""
    parents = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    return min(parents & paths, default="")
