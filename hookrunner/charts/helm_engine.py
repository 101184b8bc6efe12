"""What the render worker gives Helm and gets from it: the packed chart and options, and Helm's messages, shortened.

The engine is Helm's library (`helm_library.py`).

Helm's library knows a cluster's API versions only in addition to those that it was built with, so that a template would
see `policy/v1beta1` on every cluster. In the packed templates `X.Capabilities.APIVersions` therefore becomes `(slice
X.Capabilities.APIVersions N)`, which leaves the N built-in ones out and is still Helm's own type, with `Has`.

A message says where (template, line, column), what is evaluated there, and what is wrong. The last part may quote a
value: Go's own errors do, and a template may `fail` with any. Values are left out; the text of the template itself
stays.
"""

import gzip
import io
import re
import tarfile
from collections.abc import Iterator, Mapping
from typing import Protocol

from hookrunner import redaction
from hookrunner.charts.chart_files import unpacked
from hookrunner.errors import RenderFailed
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_VERSIONS = re.compile(rb"(?<![)$\w.])[$\w.]*(?:\.Capabilities\.APIVersions\b|\.APIVersions(?=\.Has\b))")


def pack(files: Mapping[str, bytes], built_in: int = 0) -> bytes:
    """Pack the files. `built_in` is the number of API versions that the engine has of its own."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(f"chart/{name}")
            is_changed = built_in and "templates/" in name
            text = _VERSIONS.sub(rb"(slice \g<0> %d)" % built_in, data) if is_changed else data
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    return gzip.compress(archive.getvalue(), compresslevel=0)


def unpack_subcharts(files: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the files with packed subcharts as directories; Helm's loader takes either. Raises BadChart."""
    for name, data in files.items():
        folder, _, file = name.rpartition("/")
        if file.endswith(".tgz") and folder.rpartition("/")[2] == "charts":
            inner = {f"{folder}/{file[:-4]}/{path}": content for path, content in unpacked(name, data)}
            yield from unpack_subcharts(inner)
        else:
            yield name, data


_CHART = b"name: probe\nversion: 1.0.0\napiVersion: v2\n"


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """What templates see besides values. An empty `kube_version` is the engine's own. With `lookup`, templates see the
    cluster that the worker's environment leads to, with the rights of `user`, if that is not empty; without it they
    find nothing."""

    name: str = "release"
    namespace: str = "default"
    install: bool = False
    revision: int = 1
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()
    lookup: bool = False
    user: str = ""


class HelmEngine(Protocol):
    """Renders packed charts, one at a time."""

    def render(self, archive: bytes, values: JSON, options: RenderOptions) -> dict[str, str]:
        """Render; the texts by template path. Raises BadChart, or RenderFailed with Helm's unchanged message."""


def built_in(engine: HelmEngine) -> int:
    """How many API versions templates see when none are given."""
    return int(_ask(engine, b"{{ len .Capabilities.APIVersions }}", {}, RenderOptions()))


def compatible(engine: HelmEngine, wanted: str, options: RenderOptions) -> bool:
    """Is the cluster's version in a range, as Helm reads ranges? Raises RenderFailed if the range is invalid."""
    question = b"{{ semverCompare .Values.range .Capabilities.KubeVersion.String }}"
    return _ask(engine, question, {"range": wanted}, options) == "true"


def _ask(engine: HelmEngine, question: bytes, values: Mapping[str, str], options: RenderOptions) -> str:
    files = {"Chart.yaml": _CHART, "templates/x.yaml": b"answer: " + question}
    [text] = engine.render(pack(files), values, options).values()
    if match := re.search(r"answer: (\w+)", text):
        return match[1]
    raise RenderFailed(f"Helm's engine does not render a trivial chart correctly: {text[:200]!r}")


_EXECUTION = re.compile(r"^execution error at \(([^)]+)\): ")
_PARSE = re.compile(r"^parse error at \(([^)]+)\): ")
_NOISE = (
    (re.compile(r"template: (?=\S+:\d+|no template)"), ""),
    (re.compile(r":? executing \"[^\"]*\" (?=at <)"), " "),
    (re.compile(r": error calling \w+: "), ": "),
    (re.compile(r"((?:\S+:\d+:\d+ at <[^>]*>: ){1,4}?)\1+"), r"\1… "),
    (re.compile(r" associated with template \"gotpl\""), ""),
    (re.compile(r"\s*Use --debug flag to render out invalid YAML"), ""),
)
_PLACE = re.compile(r"(?:\S+:\d+:\d+ at <[^>]*>: (?:… )?)+|\S+:\d+(?::\d+)?: |\S+, (?:document|item) \d+[^:]*: ")
_QUOTED = r"\"(?:[^\"\\]|\\.)*\""
_VALUES = (
    (re.compile(r"(range can't iterate over) .*"), r"\1 this value"),
    (re.compile(rf"(\b(?:parsing|parse)(?: time)?) {_QUOTED}"), r"\1 a text"),
    (re.compile(r"(cannot unmarshal !!\w+) `[^`]*`"), r"\1"),
    (re.compile(r"((?:maximum|minimum|exclusiveMaximum|exclusiveMinimum|multipleOf): got) \S+,"), r"\1 a number,"),
    (re.compile(r"'(?:[^'\\]|\\.)*' (?=does not match pattern|is not valid )"), "the text "),
)
"""Values that Go, its YAML and Helm's JSON schemas quote, also shortened or in another spelling."""


def shortened(message: str, values: JSON = None) -> str:
    """`chart/templates/x.yaml:1:13 at <.Values.b.c>: nil pointer evaluating interface {}.c`, without the values that
    the chart was rendered with."""
    text = " ".join(message.split())
    for pattern in (_EXECUTION, _PARSE):
        text = pattern.sub(r"\1: ", text)
    for pattern, replacement in _NOISE:
        text = pattern.sub(replacement, text)
    position = _PLACE.match(text)
    start = position.end() if position else 0
    return text[:start] + _without_values(text[start:], values)


def _without_values(text: str, values: JSON) -> str:
    for pattern, replacement in _VALUES:
        text = pattern.sub(replacement, text)
    return redaction.masked(text, redaction.words(values))


def is_syntax_error(message: str) -> bool:
    """Is it a syntax error of a template, independent of the values?"""
    return bool(_PARSE.match(message))
