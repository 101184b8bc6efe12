"""Which files a module's chart is made of, and what can be told from them without rendering.

With a `Chart.yaml` they are those that Helm loads from the directory. Without one the module is a synthetic chart:
everything but the directories `crds`, `docs`, `hooks`, `images` and `lib`, at any depth, and no `.helmignore`
(addon-operator.md §6.2). Links are followed, as Helm does.

Files are read again only if one of them has another size, inode or time than before.
"""

import hashlib
import io
import os
import re
import stat
import tarfile
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hookrunner import gzips, regular_files
from hookrunner.charts.ignoring import Rule, ignored, rules
from hookrunner.errors import BadChart

CHART = "Chart.yaml"
NOT_CHART = frozenset({"crds", "docs", "hooks", "images", "lib"})
_LARGEST = 5 << 20
_LARGEST_ARCHIVE = 100 << 20
"""Bytes of a file, and of a packed chart when it is unpacked, as Helm has it."""
_RENDERED = ("templates/", "charts/", CHART, "Chart.lock", "requirements.", "values.yaml", "values.schema.json")
_FILES = re.compile(rb"\bFiles\b")
_LOOKUP = re.compile(rb"\blookup\b")
_CAPABILITIES = re.compile(rb"\bCapabilities\b|^kubeVersion:", re.MULTILINE)

File = tuple[str, int, int, int]
"""Path in the chart, size, inode, time: the same as long as nobody touches it."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What the files say. `fingerprint` is a hash, as hex, of all that can make a difference: a hook or a README is
    none, unless a template reads files (`.Files`). `looks_up`: a template, a helper or a subchart might ask the cluster
    (`lookup`), so that a render is never known beforehand. `reads_capabilities`: it might depend on what the cluster
    can do."""

    fingerprint: str
    looks_up: bool
    reads_capabilities: bool


def scan(directory: Path) -> Scan:
    """What can be told of the chart in a directory. Raises BadChart if its files cannot be read."""
    return _scanned(directory, tuple(_files(directory)))


def contents(directory: Path) -> dict[str, bytes]:
    """The chart's files by their path in it, sorted, as they are on disk. Raises BadChart."""
    names = [name for name, *_ in _files(directory)]
    try:
        return {name: regular_files.read(directory / name).removeprefix(BOM_UTF8) for name in names}
    except OSError as error:
        raise BadChart(f"{error.filename}: {error.strerror}") from None


@lru_cache(maxsize=512)
def _scanned(directory: Path, seen: tuple[File, ...]) -> Scan:
    """`seen` is part of the key, no more."""
    files = contents(directory)
    total = hashlib.sha256()
    rendered = {name: data for name, data in files.items() if name.startswith(_RENDERED)}
    counted = files if any(map(_FILES.search, _all_texts(rendered))) else rendered
    for name, data in counted.items():
        total.update(f"{name}\0{len(data)}\0".encode() + data)
    texts = _all_texts(counted)
    return Scan(total.hexdigest(), any(map(_LOOKUP.search, texts)), any(map(_CAPABILITIES.search, texts)))


def _all_texts(files: Mapping[str, bytes]) -> list[bytes]:
    return [text for name, data in files.items() for text in _texts(name, data)]


def _texts(name: str, data: bytes) -> Iterator[bytes]:
    """Everything that may be a template, or text for `tpl`: files with actions, also those of packed subcharts."""
    if name.startswith("charts/") and name.endswith(".tgz"):
        for inner, packed in unpacked(name, data):
            yield from _texts(inner, packed)
    elif b"{{" in data or name.endswith(CHART):
        yield data


def unpacked(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """The files of a packed chart with their paths in it. Raises BadChart."""
    try:
        with tarfile.open(fileobj=io.BytesIO(gzips.unpacked(data, _LARGEST_ARCHIVE)), mode="r:") as archive:
            yield from _members(name, archive)
    except (tarfile.TarError, OSError, ValueError, KeyError) as error:  # KeyError: a link that leads nowhere
        raise BadChart(f"{name} is not a packed chart: {error}") from None


def _members(name: str, archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    total = 0
    for member in archive:
        if member.size > _LARGEST:
            raise BadChart(f"{name}: {member.name} is larger than Helm loads ({_LARGEST} bytes)")
        if file := archive.extractfile(member):
            data = file.read()
            total += len(data)
            if total > _LARGEST_ARCHIVE:  # by links to one file, or by files of holes
                raise BadChart(f"{name}: its files are larger than Helm loads ({_LARGEST_ARCHIVE} bytes)")
            yield member.name.partition("/")[2], data


def _files(directory: Path) -> list[File]:
    try:
        ignore = rules(directory) if (directory / CHART).is_file() else None
        return sorted(_walk(directory, "", ignore, ()))
    except OSError as error:
        raise BadChart(f"{error.filename}: {error.strerror}") from None


def _walk(directory: Path, prefix: str, ignore: Sequence[Rule] | None, above: tuple[int, ...]) -> Iterator[File]:
    inode = directory.stat().st_ino
    if inode in above:
        raise BadChart(f"{directory} is a link to a directory that it lies in")
    with os.scandir(directory) as entries:
        for entry in entries:
            name, is_directory = prefix + entry.name, entry.is_dir()
            if ignore is None:
                left_out = is_directory and entry.name in NOT_CHART
            else:
                left_out = ignored(ignore, name, is_directory)
            if left_out:
                continue
            if is_directory:
                yield from _walk(directory / entry.name, name + "/", ignore, (*above, inode))
            else:
                yield _file(name, entry)


def _file(name: str, entry: os.DirEntry[str]) -> File:
    found = entry.stat()
    if not stat.S_ISREG(found.st_mode):
        raise BadChart(f"{entry.path} is neither a file nor a directory, and Helm loads no such things")
    if found.st_size > _LARGEST:
        raise BadChart(f"{entry.path} is larger than Helm loads ({_LARGEST} bytes): put it in .helmignore")
    if name != name.encode(errors="replace").decode():
        raise BadChart(f"{entry.path!r}: its name is no UTF-8, so that no release can hold it; rename it")
    return name, found.st_size, found.st_ino, found.st_mtime_ns
