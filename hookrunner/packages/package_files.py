"""The files of one package: collected within the bounds of every source, and their checksums.

    files = PackageFiles("coredns 1.14.6")
    files.add("templates/service.yaml", data)                         # raises PackageError
    sums = parse_checksums("coredns 1.14.6", files.by_path["SHA256SUMS"])  # {"manifest.yaml": "9f86d0…"}
    digest = digest_of(compute_checksums(files.by_path))              # "sha256:…", for every source the same

Directories, web servers and ConfigMaps fill it alike, so that the same package is refused with the same words wherever
it lies. A source reads at most `names.LARGEST_FILE + 1` bytes of a file: enough to know that it is too large.

`SHA256SUMS` is what `sha256sum` writes: 64 hex digits, two spaces (or a space and `*`), the path. A package's digest is
the checksum of that list in one form: lowercase digits, two spaces, sorted by path. So a package without a list has the
digest that it would have with one, and `find . -type f ! -name SHA256SUMS | sort | xargs sha256sum` in any order
changes nothing.
Source: https://www.gnu.org/software/coreutils/manual/html_node/cksum-output-modes.html
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import PurePosixPath

from hookrunner.errors import PackageError, PackageReason
from hookrunner.packages.names import LARGEST_CHANNEL, LARGEST_FILE, LARGEST_PACKAGE, MOST_FILES, shown
from kubetypes.bounds import in_units
from kubetypes.light_dataclasses import dataclass

CHECKSUMS = "SHA256SUMS"
SIGNATURE_SUFFIX = ".sig"
CHECKSUMS_SIGNATURE = CHECKSUMS + SIGNATURE_SUFFIX
DIGEST_PATTERN = "sha256:[0-9a-f]{64}"

_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)", re.DOTALL)
_DIGEST = re.compile(DIGEST_PATTERN)

Checksums = Mapping[str, str]
"""Hex digests by path."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A text and its signature in base64, empty without one."""

    text: bytes = field(repr=False)
    signature: bytes = b""


@dataclass(frozen=True, slots=True)
class Seal:
    """What may be signed of a package, as it is at the source: its list of checksums, the signature of that in base64,
    and the digest. Each is empty if there is none. `statements` are other signed texts that are about just this
    package: those of a registry."""

    text: bytes = field(default=b"", repr=False)
    signature: bytes = b""
    digest: str = ""
    statements: tuple[Statement, ...] = ()


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
        return refusal(self.package, reason, problem)


def refusal(package: str, reason: PackageReason, problem: str) -> PackageError:
    """The error of a package that cannot be used."""
    return PackageError(reason, f"package {package}: {problem}")


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


def is_digest(text: str) -> bool:
    """Whether this is a digest as packages have it: `sha256:` and 64 lowercase hex digits."""
    return _DIGEST.fullmatch(text) is not None


def compute_checksums(files: Mapping[str, bytes]) -> dict[str, str]:
    """The checksum of each file, sorted by path."""
    return {path: hashlib.sha256(files[path]).hexdigest() for path in sorted(files)}


def render_checksums(checksums: Checksums) -> bytes:
    """The list in the form of which the digest is taken, which `sha256sum --check` reads."""
    return "".join(f"{checksums[path]}  {path}\n" for path in sorted(checksums)).encode()


def digest_of(checksums: Checksums) -> str:
    """The digest of the package with these files."""
    return f"sha256:{hashlib.sha256(render_checksums(checksums)).hexdigest()}"


def seal_of(package: str, checksums: bytes | None, signature: bytes | None) -> Seal:
    """The seal of a package with this list and this signature of it, None if there is none. Raises PackageError for a
    list that cannot be used."""
    if checksums is None:
        return Seal()
    return Seal(checksums, signature or b"", digest_of(parse_checksums(package, checksums)))


def parse_checksums(package: str, text: bytes) -> dict[str, str]:
    """The checksums in a list; `package` names it in messages. Raises PackageError with the reason Malformed or
    TooLarge."""
    if len(text) > LARGEST_CHANNEL:
        raise _refusal(package, "TooLarge", f"has more than {in_units(LARGEST_CHANNEL)}")
    try:
        lines = text.decode().split("\n")
    except UnicodeDecodeError:
        raise _refusal(package, "Malformed", f"is not UTF-8; {_MEND}") from None
    checksums: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if line:
            path, checksum = _parse_line(package, number, line)
            if path in checksums:
                raise _refusal(package, "Malformed", f"line {number}: the file {shown(path)} is listed twice; {_MEND}")
            checksums[path] = checksum
    if not checksums:
        raise _refusal(package, "Malformed", f"lists no files; {_MEND}")
    if len(checksums) > MOST_FILES:
        raise _refusal(package, "TooLarge", f"lists more than {MOST_FILES:,} files")
    return checksums


def require_listed_files(package: str, listed: Checksums, actual: Checksums) -> None:
    """Raises PackageError unless the actual files are the listed ones: Malformed if one is missing or not listed,
    DigestMismatch if one has another content."""
    for path in sorted(listed.keys() - actual.keys()):
        raise _refusal(package, "Malformed", f"lists the file {shown(path)}, which does not exist; {_MEND}")
    for path in sorted(actual.keys() - listed.keys()):
        raise _refusal(package, "Malformed", f"does not list the file {shown(path)}; remove the file, or {_MEND}")
    for path in sorted(listed):
        if listed[path] != actual[path]:
            problem = f"the file {shown(path)} has the checksum {actual[path]}, not {listed[path]} as listed; {_MEND}"
            raise _refusal(package, "DigestMismatch", problem)


_MEND = f"write it again with `sha256sum FILE… > {CHECKSUMS}`"


def _parse_line(package: str, number: int, line: str) -> tuple[str, str]:
    """Path and checksum of one line. `find -type f` writes `./` before each path."""
    match = _LINE.fullmatch(line)
    if not match:
        raise _refusal(package, "Malformed", f"line {number} is no checksum with a path; {_MEND}")
    path = match[2].removeprefix("./")
    if problem := path_problem(path):
        raise _refusal(package, "Malformed", f"line {number}: the path {shown(path)} {problem}")
    if path in (CHECKSUMS, CHECKSUMS_SIGNATURE):
        own = "itself" if path == CHECKSUMS else "its own signature"
        raise _refusal(package, "Malformed", f"line {number}: it lists {own}; remove the line")
    return path, match[1].lower()


def _refusal(package: str, reason: PackageReason, problem: str) -> PackageError:
    return refusal(package, reason, f"{CHECKSUMS}: {problem}")
