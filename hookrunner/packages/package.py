"""What a package is: the files of one version of a component, their digest, their form, and what `package.yaml` says.

    package = parse_package("coredns", "1.14.6", {"manifest.yaml": b"…", "SHA256SUMS": b"…"})
    package.form, package.digest, package.traits.kubernetes

| contains | form |
|---|---|
| `Chart.yaml` | chart |
| `kustomization.yaml`, or another name that kustomize knows | kustomize |
| neither | plain: the files at the top level |

`SHA256SUMS` and its signature are no files of the package but say what the package is; `package.yaml` belongs to it,
because its ranges must be covered by the digest. Everything here is pure: sources read the files,
`package_fetcher.py` decides whether they may be used, `addons/object_builder.py` makes objects of them.
Source: docs/packaging-addons.md
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Literal

from hookrunner import ranges
from hookrunner.manifests.kustomization_files import KUSTOMIZATIONS
from hookrunner.packages.names import require_package, shown
from hookrunner.packages.package_files import (
    CHECKSUMS,
    CHECKSUMS_SIGNATURE,
    compute_checksums,
    digest_of,
    nested_file,
    parse_checksums,
    refusal,
    require_listed_files,
)
from hookrunner.shapes import TEXT, Many, Problem, Table, check, suggestion
from kubetypes.bounds import PACKAGE_TEXT
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.yaml_values import YAML_1_2, BadDocument, documents

PACKAGE_FILE = "package.yaml"
CHART_FILE = "Chart.yaml"
COREFILE = "Corefile"

Form = Literal["chart", "kustomize", "plain"]

_RANGES = ("kubernetes", "testedKubernetes", "hookrunner", "upgradesFrom")
_FILE = Table(dict.fromkeys((*_RANGES, "description"), TEXT) | {"data": Many(TEXT, at_least=0)}, open=True)


@dataclass(frozen=True, slots=True)
class PackageTraits:
    """What `package.yaml` says; empty texts and no files without one.

    `kubernetes` (refuse outside), `tested_kubernetes` (warn outside), `hookrunner` and `upgrades_from` (the installed
    version) are ranges that can be read. `data` are files that are no manifests. `unknown` are unknown keys, each with
    what may have been meant.
    """

    kubernetes: str = ""
    tested_kubernetes: str = ""
    hookrunner: str = ""
    upgrades_from: str = ""
    data: tuple[str, ...] = ()
    description: str = ""
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Package:
    """One version of a component. `files` are by path, sorted, without the list of checksums; `has_checksums` says that
    there is such a list, and that the files are those of the list; `is_signed` that a trusted key has signed it."""

    component: str
    version: str
    digest: str
    files: Mapping[str, bytes] = field(repr=False)
    form: Form
    traits: PackageTraits = PackageTraits()
    has_checksums: bool = False
    is_signed: bool = False

    def __str__(self) -> str:
        return f"{self.component} {self.version}"

    @property
    def manifests(self) -> dict[str, bytes]:
        """The files of a plain package that have objects: those at the top level, sorted, but `package.yaml`,
        `Corefile` and those that it calls data."""
        no_manifests = {PACKAGE_FILE, COREFILE, *self.traits.data}
        return {path: data for path, data in self.files.items() if "/" not in path and path not in no_manifests}


def parse_package(component: str, version: str, files: Mapping[str, bytes]) -> Package:
    """The package with these files, `SHA256SUMS` among them if there is one.

    Raises PackageError: Malformed for names, files or `package.yaml` that cannot be used and for files that are missing
    or not listed, TooLarge for a list that is too long, DigestMismatch for files with another checksum than listed.
    """
    require_package(component, version)
    name = f"{component} {version}"
    own = {path: files[path] for path in sorted(files) if path not in (CHECKSUMS, CHECKSUMS_SIGNATURE)}
    if not own.keys() - {PACKAGE_FILE}:
        raise refusal(name, "Malformed", "has no files; add manifests, a chart or a kustomization")
    if path := nested_file(frozenset(own)):
        raise refusal(name, "Malformed", f"the path {shown(path)} is a file and a directory; rename one of them")
    checksums = compute_checksums(own)
    if CHECKSUMS in files:
        require_listed_files(name, parse_checksums(name, files[CHECKSUMS]), checksums)
    traits = _parse_traits(name, own)
    return Package(component, version, digest_of(checksums), own, form_of(own), traits, CHECKSUMS in files)


def form_of(paths: Iterable[str]) -> Form:
    """The form of a package with files at these paths."""
    names = frozenset(paths)
    if CHART_FILE in names:
        return "chart"
    return "plain" if names.isdisjoint(KUSTOMIZATIONS) else "kustomize"


def _parse_traits(name: str, files: Mapping[str, bytes]) -> PackageTraits:
    document = _parse_document(name, files.get(PACKAGE_FILE, b""))
    problems = [*check(document, _FILE), *(_wrong_values(document, files) if isinstance(document, dict) else ())]
    if problems:
        raise refusal(name, "Malformed", f"{PACKAGE_FILE}: " + "; ".join(map(str, problems)))
    return PackageTraits(
        kubernetes=document.get("kubernetes", ""),
        tested_kubernetes=document.get("testedKubernetes", ""),
        hookrunner=document.get("hookrunner", ""),
        upgrades_from=document.get("upgradesFrom", ""),
        data=tuple(document.get("data", ())),
        description=document.get("description", ""),
        unknown=tuple(f"{key}{suggestion(key, _FILE.keys)}" for key in document if key not in _FILE.keys),
    )


def _parse_document(name: str, text: bytes) -> JSON:
    """The document of `package.yaml`; an empty one without text."""
    try:
        found = list(documents(text, YAML_1_2, PACKAGE_TEXT))
    except BadDocument as error:
        raise refusal(name, "Malformed", f"{PACKAGE_FILE}: {error}") from None
    if len(found) > 1:
        raise refusal(name, "Malformed", f"{PACKAGE_FILE}: it has {len(found)} documents; write one")
    return {} if not found or found[0] is None else found[0]


def _wrong_values(document: Mapping[str, JSON], files: Mapping[str, bytes]) -> Iterator[Problem]:
    """Values of the right type that are wrong nevertheless."""
    for key in _RANGES:
        if isinstance(wanted := document.get(key), str):
            try:
                ranges.parse(wanted)
            except ValueError as error:
                yield Problem(key, str(error))
    data = document.get("data")
    for index, path in enumerate(data if isinstance(data, list) else ()):
        if isinstance(path, str) and path not in files:
            yield Problem(f"data[{index}]", f"names no file of the package{suggestion(path, files)}")
