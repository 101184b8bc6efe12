"""The files of a module's chart, what is known of them without rendering, and the CRDs beside it.

With a `Chart.yaml` the files are those that Helm loads from the directory; `.helmignore` says which it leaves out.
Without one the module is a synthetic chart: everything but the directories `crds`, `docs`, `hooks`, `images` and
`lib`, at any depth, and no `.helmignore`. Links are followed, as Helm does.

Files are read again only if one of them has another size, inode or time than before.

`.helmignore` has one shell pattern a line; `/` at the end means directories only, at the front or inside a path from
the chart's top; `!` negates a rule, `#` begins a comment. `**` is refused. Dot files in `templates/`, which Helm always
ignores, are the last rule.
Source: https://helm.sh/docs/chart_template_guide/helm_ignore_file/
"""

import hashlib
import io
import os
import re
import stat
import tarfile
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cache, lru_cache
from pathlib import Path

from hookrunner import safe_files
from hookrunner.errors import BadChart
from hookrunner.model.releases import Capabilities
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.yaml_values import YAML_1_2, BadDocument, documents


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line. `parts` are patterns for each name of a path, only for the last name if `anywhere`."""

    parts: tuple[str, ...]
    anywhere: bool
    directories: bool
    negated: bool

    def matches(self, path: str) -> bool:
        names = path.split("/")
        if self.anywhere:
            names = names[-1:]
        return len(names) == len(self.parts) and all(
            _pattern(part).fullmatch(name) for part, name in zip(self.parts, names, strict=True)
        )


@cache
def _pattern(part: str) -> re.Pattern[str]:
    return re.compile(translate(part.replace("[^", "[!")))


DEFAULT = IgnoreRule(("templates", ".?*"), anywhere=False, directories=False, negated=False)


def read_ignore_rules(directory: Path) -> tuple[IgnoreRule, ...]:
    """Read the rules of a chart. Raises BadChart."""
    file = directory / ".helmignore"
    if not safe_files.may_be_file(file):
        return (DEFAULT,)
    lines = safe_files.read_text(file, "utf-8-sig", "replace").splitlines()
    parsed = [_parse_rule(file, line.strip()) for line in lines if line.strip() and not line.strip().startswith("#")]
    return (*parsed, DEFAULT)


def _parse_rule(file: Path, line: str) -> IgnoreRule:
    if "**" in line:
        raise BadChart(f"{file}: `{line}`: Helm does not support `**`; name the directories, `*` stands for one name")
    pattern = line.removeprefix("!")
    inside = pattern.removesuffix("/")
    return IgnoreRule(
        parts=tuple(inside.removeprefix("/").split("/")),
        anywhere="/" not in inside,
        directories=pattern.endswith("/"),
        negated=line.startswith("!"),
    )


def is_ignored(rules: Sequence[IgnoreRule], path: str, is_directory: bool) -> bool:
    """Does Helm leave the path out? The first rule that applies decides, and a negated rule ignores every path that
    it does not match, as in Helm."""
    for rule in rules:
        fits = rule.matches(path) and (is_directory or not rule.directories)
        if fits != rule.negated:
            return True
    return False


CHART = "Chart.yaml"
NOT_CHART = frozenset({"crds", "docs", "hooks", "images", "lib"})
_LARGEST = 5 << 20
_LARGEST_ARCHIVE = 100 << 20
"""Bytes of a file, and of a packed chart when it is unpacked, as Helm has it."""
_RENDERED = ("templates/", "charts/", CHART, "Chart.lock", "requirements.", "values.yaml", "values.schema.json")
_FILES = re.compile(rb"\bFiles\b")
_LOOKUP = re.compile(rb"\blookup\b")
_YAML = re.compile(rb"\b(?:to|from)Yaml")
_CAPABILITIES = re.compile(
    rb"(^kubeVersion:|\bCapabilities\.KubeVersion\b)"
    rb'|\bCapabilities\.APIVersions\.Has\s+["`]([^"`\\]+)["`]'
    rb"|\bCapabilities\b",
    re.MULTILINE,
)
"""Each place that reads them: the version, one kind by its name, or what only a render would show."""

File = tuple[str, int, int, int]
"""Path in the chart, size, inode, time: equal as long as the file is not touched."""


@dataclass(frozen=True, slots=True)
class CapabilityReads:
    """What a chart reads of the capabilities of the cluster: its version, and whether it serves each of `kinds`, named
    as in `Capabilities`; None is any of them."""

    version: bool
    kinds: frozenset[str] | None

    @property
    def any(self) -> bool:
        """Does it read something?"""
        return self.version or self.kinds is None or bool(self.kinds)

    def relevant(self, served: Capabilities) -> Capabilities | None:
        """What the chart's objects may depend on, None for nothing. Most charts ask for a kind or two, and other
        definitions are nothing to them."""
        if not self.any:
            return None
        if self.kinds is None:
            return served
        kinds = tuple(name for name in served.api_versions if name in self.kinds)
        return Capabilities(served.kube_version if self.version else "", kinds)


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of a scan. `fingerprint` is a hash, as hex, of all that can change a render: a hook or a README
    cannot, unless a template reads files (`.Files`). `looks_up`: a template, a helper or a subchart might ask the
    cluster (`lookup`), so that the result of a render cannot be predicted. `uses_yaml`: it might use `toYaml` or
    `fromYaml`."""

    fingerprint: str
    looks_up: bool
    uses_yaml: bool
    capabilities: CapabilityReads


def scan(directory: Path) -> Scan:
    """Scan the chart in a directory. Raises BadChart if its files cannot be read."""
    return _scan(directory, tuple(_files(directory)))


def contents(directory: Path) -> dict[str, bytes]:
    """Read the chart's files as they are on disk, by their path in it, sorted. Raises BadChart."""
    names = [name for name, *_ in _files(directory)]
    try:
        return {name: safe_files.read(directory / name).removeprefix(BOM_UTF8) for name in names}
    except OSError as error:
        raise BadChart(f"{error.filename}: {error.strerror}") from None


@lru_cache(maxsize=512)
def _scan(directory: Path, files_on_disk: tuple[File, ...]) -> Scan:
    """`files_on_disk` is only a part of the cache's key."""
    files = contents(directory)
    total = hashlib.sha256()
    rendered = {name: data for name, data in files.items() if name.startswith(_RENDERED)}
    counted = files if any(map(_FILES.search, _all_texts(rendered))) else rendered
    for name, data in counted.items():
        total.update(f"{name}\0{len(data)}\0".encode() + data)
    texts = _all_texts(counted)
    looks_up, uses_yaml = (any(map(pattern.search, texts)) for pattern in (_LOOKUP, _YAML))
    return Scan(total.hexdigest(), looks_up, uses_yaml, _capability_reads(texts))


def _capability_reads(texts: Iterable[bytes]) -> CapabilityReads:
    reads = [match for text in texts for match in _CAPABILITIES.finditer(text)]
    kinds = frozenset(match[2].decode(errors="replace") for match in reads if match[2])
    return CapabilityReads(any(match[1] for match in reads), kinds if all(match.lastindex for match in reads) else None)


def _all_texts(files: Mapping[str, bytes]) -> list[bytes]:
    return [text for name, data in files.items() for text in _texts(name, data)]


def _texts(name: str, data: bytes) -> Iterator[bytes]:
    """Every file that may be a template, or text for `tpl`: files with actions, also those of packed subcharts."""
    if name.startswith("charts/") and name.endswith(".tgz"):
        for inner, packed in unpacked(name, data):
            yield from _texts(inner, packed)
    elif b"{{" in data or name.endswith(CHART):
        yield data


def unpacked(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a packed chart with their paths in it. Raises BadChart."""
    try:
        with tarfile.open(fileobj=io.BytesIO(safe_files.unpack(data, _LARGEST_ARCHIVE)), mode="r:") as archive:
            yield from _members(name, archive)
    except (tarfile.TarError, OSError, ValueError, KeyError) as error:  # KeyError: a dangling link
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
        ignore = read_ignore_rules(directory) if safe_files.may_be_file(directory / CHART) else None
        return sorted(_walk(directory, "", ignore, ()))
    except OSError as error:
        raise BadChart(f"{error.filename}: {error.strerror}") from None


def _walk(directory: Path, prefix: str, ignore: Sequence[IgnoreRule] | None, above: tuple[int, ...]) -> Iterator[File]:
    inode = directory.stat().st_ino
    if inode in above:
        raise BadChart(f"{directory} is a link to a directory that contains it; remove the link")
    with os.scandir(directory) as entries:
        for entry in entries:
            name, is_directory = prefix + entry.name, entry.is_dir()
            if ignore is None:
                left_out = is_directory and entry.name in NOT_CHART
            else:
                left_out = is_ignored(ignore, name, is_directory)
            if left_out:
                continue
            if is_directory:
                yield from _walk(directory / entry.name, name + "/", ignore, (*above, inode))
            else:
                yield _file(name, entry)


def _file(name: str, entry: os.DirEntry[str]) -> File:
    status = entry.stat()
    if not stat.S_ISREG(status.st_mode):
        raise BadChart(f"{entry.path} is neither a file nor a directory, and Helm cannot load it; remove it")
    if status.st_size > _LARGEST:
        raise BadChart(f"{entry.path} is larger than Helm loads ({_LARGEST} bytes): put it in .helmignore")
    if name != name.encode(errors="replace").decode():
        raise BadChart(f"{entry.path!r}: its name is not UTF-8, so a release record cannot hold it; rename it")
    return name, status.st_size, status.st_ino, status.st_mtime_ns


CRDS = "crds"
_VERSION, _KIND = "apiextensions.k8s.io/v1", "CustomResourceDefinition"


def read_crds(directory: Path, skip_prefixes: Sequence[str]) -> list[JSON]:
    """Read the CRDs that a module brings in `crds/`, in the order of their files; hookrunner applies them before any
    chart.

    Files whose name begins with one of `skip_prefixes` are left out. Raises BadChart, naming file and document, for a
    document that is not a CRD.
    """
    files = sorted((directory / CRDS).rglob("*.yaml"))
    return [crd for file in files if not file.name.startswith(tuple(skip_prefixes)) for crd in _read_crds(file)]


def _read_crds(file: Path) -> Iterator[JSON]:
    try:
        for number, document in enumerate(documents(safe_files.read(file), YAML_1_2), start=1):
            if document is None:
                continue
            if not _is_crd(document):
                raise BadChart(f"{file}, document {number}: only {_KIND} of {_VERSION} may be in crds/")
            yield document
    except BadDocument as error:
        raise BadChart(f"{file}, document {error.number}: {error}") from None
    except OSError as error:
        raise BadChart(f"{file}: {error.strerror}") from None


def _is_crd(document: JSON) -> bool:
    if not isinstance(document, dict):
        return False
    metadata = document.get("metadata")
    named = isinstance(metadata, dict) and bool(metadata.get("name"))
    return named and document.get("apiVersion") == _VERSION and document.get("kind") == _KIND
