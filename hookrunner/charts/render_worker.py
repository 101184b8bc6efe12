"""The render worker: a process that `renderer.py` asks for one render after another, until its socket is closed.

Requests and answers have 4 bytes of length before them. A request is JSON. An answer has one more byte in front: `=`
and what was rendered (a line of JSON, the manifest, a line of JSON for each Helm hook and object), `C` and a message
for a bad chart, `R` for a render that failed. Lines, because all objects at once would be a long step of the event loop
that reads them. The first message of a worker reports that it is ready.

What a template takes too much of, memory, ends the process: Go's runtime gives up when the kernel refuses. The limit is
on private data (RLIMIT_DATA), since Go reserves far more addresses than it uses. stderr is a file for last words; each
render truncates it.

With the rendered objects goes what a release record keeps of the chart: the same JSON that Helm writes there
(`pkg/chart/v2/chart.go`). Subcharts are left out, as in Helm. Bytes are base64, because files need not be text.
"""

import base64
import gc
import os
import re
import signal
import socket
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from hookrunner.charts import chart_files
from hookrunner.charts.characters import harmless, require_same_structure
from hookrunner.charts.chart_files import CHART
from hookrunner.charts.helm_engine import (
    HelmEngine,
    RenderOptions,
    built_in,
    compatible,
    is_syntax_error,
    pack,
    shortened,
    unpack_subcharts,
)
from hookrunner.charts.manifests import Manifests, manifests
from hookrunner.errors import BadChart, BadManifest, RenderFailed
from hookrunner.process.worker_process import LENGTH, limit_memory
from kubetypes import json_values
from kubetypes.bounds import OBJECT, RENDERED, TooLarge, in_units
from kubetypes.json_values import JSON
from kubetypes.yaml_values import YAML_1_1, BadDocument, documents

_GRACE = 1.0
"""Seconds beyond the deadline, at which the parent kills this process if the parent still exists."""

_PACKED = 64
"""Packed charts that are kept; some have megabytes."""


def main() -> None:
    """The arguments are the socket's descriptor, the bytes of memory, the seconds of the deadline. The collector is off
    until all is imported."""
    channel, memory, deadline = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), float(sys.argv[3])
    longest = deadline and deadline + _GRACE
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which still needs this process
    with channel, channel.makefile("rb") as requests:
        try:
            engine = _load_engine()
            charts = ChartRenderer(engine, built_in(engine))
        except (BadChart, RenderFailed) as error:
            _send(channel, b"!" + str(error).encode())
            return
        gc.freeze()  # imported modules stay until the end
        gc.enable()
        limit_memory(memory)
        _send(channel, b"=")
        while head := requests.read(LENGTH.size):
            os.ftruncate(sys.stderr.fileno(), 0)
            signal.setitimer(signal.ITIMER_REAL, longest)
            answer = charts.answer(requests.read(LENGTH.unpack(head)[0]))
            signal.setitimer(signal.ITIMER_REAL, 0)
            _send(channel, answer)


def _send(channel: socket.socket, answer: bytes) -> None:
    channel.sendall(LENGTH.pack(len(answer)) + answer)


def _load_engine() -> HelmEngine:
    """Helm's library. Raises RenderFailed if it does not load on this system."""
    try:
        # Imported here, so that the reason is reported.
        from hookrunner.charts.helm_library import HelmLibrary

        return HelmLibrary()
    except Exception as error:  # its own error class is not available when it does not load
        raise RenderFailed(
            f"charts cannot be rendered: helm-python-sdk does not load ({error}); it has wheels for Linux with glibc "
            "(x86_64, aarch64) and macOS (arm64), install hookrunner there"
        ) from None


class ChartRenderer:
    """Renders charts; packs a chart again only when one of its files has changed."""

    def __init__(self, engine: HelmEngine, built_in: int) -> None:
        self._engine = engine
        self._built_in = built_in
        self._load_cached = lru_cache(maxsize=_PACKED)(self._load)

    def answer(self, request: bytes) -> bytes:
        order = orjson.loads(request)
        try:
            return b"=" + as_answer(*self._render(order))
        except BadChart as error:
            return b"C" + str(error).encode(errors="replace")
        except BadManifest as error:
            return b"M" + shortened(str(error), None if order["quotes"] else order["values"]).encode(errors="replace")
        except RenderFailed as error:
            kind = b"C" if is_syntax_error(str(error)) else b"R"
            return kind + shortened(str(error), None if order["quotes"] else order["values"]).encode(errors="replace")
        except orjson.JSONEncodeError as error:  # nested deeper than orjson writes (254 levels)
            return b"R" + f"an object in {order['directory']} cannot be written as JSON: {error}".encode()

    def _render(self, order: dict[str, Any]) -> tuple[Manifests, JSON]:
        """What was rendered, and what a record keeps of the chart."""
        directory = Path(order["directory"])
        scan = chart_files.scan(directory)
        archive, record = self._load_cached(directory, order["name"], scan.fingerprint)
        options = _options(order, scan.looks_up)
        self._check(record["metadata"], options)

        def render(values: JSON) -> Manifests:
            texts = self._engine.render(archive, values, options)
            return manifests(texts, record["metadata"]["name"], order["labels"])

        rendered = render(order["values"])
        if scan.uses_yaml and (plain := harmless(order["values"])) is not None:
            require_same_structure(_all_objects(rendered), _all_objects(render(plain)), order["values"])
        return rendered, record

    def _load(self, directory: Path, name: str, fingerprint: str) -> tuple[bytes, dict[str, Any]]:
        files = dict(unpack_subcharts(chart_files.contents(directory)))
        if chart_files.CHART not in files:
            files[chart_files.CHART] = synthetic_chart(name)
        record = recorded_chart(files)
        if missing := missing_subcharts(files, record["metadata"]):
            names = ", ".join(missing)
            raise BadChart(f"found in Chart.yaml, but missing in charts/ directory: {names}; run helm dependency build")
        return pack(files, self._built_in), record

    def _check(self, metadata: dict[str, Any], options: RenderOptions) -> None:
        """The checks that Helm makes outside its engine, before it renders. Raises BadChart."""
        wanted = metadata.get("kubeVersion")
        if wanted and not compatible(self._engine, wanted, options):
            cluster = options.kube_version
            raise BadChart(f"chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {cluster}")
        if metadata.get("type") == "library":
            raise BadChart("a library chart cannot be installed: put templates into a chart that depends on it")


def as_answer(rendered: Manifests, chart: JSON) -> bytes:
    """What `read_render` reads. Raises RenderFailed if that is too large."""
    lines = [orjson.dumps(item) for item in (*rendered.hooks, *rendered.objects)]
    text, largest = b"\n".join(lines), max(map(len, lines), default=0)
    if largest > OBJECT.size:
        raise RenderFailed(f"an object has more than {in_units(OBJECT.size)} as JSON, which no API server takes")
    try:
        json_values.check(text, RENDERED)
    except TooLarge as error:
        raise RenderFailed(f"its objects are {error}") from None
    manifest = rendered.manifest.encode()
    head = {"notes": rendered.notes, "ignored": rendered.ignored, "chart": chart}
    sizes = {"manifest": len(manifest), "hooks": len(rendered.hooks)}
    return b"%b\n%b%b" % (orjson.dumps(head | sizes), manifest, text)


def _all_objects(rendered: Manifests) -> list[JSON]:
    return [*rendered.objects, *(hook.obj for hook in rendered.hooks)]


def _options(order: dict[str, Any], looks_up: bool) -> RenderOptions:
    return RenderOptions(
        name=order["name"],
        namespace=order["namespace"],
        install=order["install"],
        revision=order["revision"],
        kube_version=order["kube_version"],
        api_versions=tuple(order["api_versions"]),
        lookup=looks_up and order["lookup"],
        user=order["user"],
    )


_REQUIREMENTS = "requirements.yaml"
_LOCKS, _VALUES, _SCHEMA = ("Chart.lock", "requirements.lock"), "values.yaml", "values.schema.json"
_SUBCHART = re.compile(r"charts/[^/_.][^/]*/Chart\.yaml")
_TEXTS = ("name", "home", "version", "description", "icon", "apiVersion", "condition", "tags", "appVersion")
_FIELDS = (
    *_TEXTS,
    "kubeVersion",
    "type",
    "sources",
    "keywords",
    "maintainers",
    "deprecated",
    "annotations",
    "dependencies",
)


def synthetic_chart(name: str) -> bytes:
    """The `Chart.yaml` of a module that has none."""
    return f"name: {name}\nversion: 0.2.0\napiVersion: v2\n".encode()


def chart_metadata(files: Mapping[str, bytes]) -> dict[str, Any]:
    """`Chart.yaml` as Helm keeps it: without unknown keys; empty if it cannot be read (Helm reports that)."""
    document = _document(files.get(CHART, b"")) | _document(files.get(_REQUIREMENTS, b""))
    known = {key: document[key] for key in _FIELDS if document.get(key) not in (None, "", [], {})}
    return known | {key: str(known[key]) for key in (*_TEXTS, "kubeVersion") if key in known}


def missing_subcharts(files: Mapping[str, bytes], metadata: Mapping[str, Any]) -> list[str]:
    """Subcharts that `Chart.yaml` names and that are missing in `charts/`."""
    present = {str(_document(data).get("name")) for name, data in files.items() if _SUBCHART.fullmatch(name)}
    named = (str(item.get("name")) for item in metadata.get("dependencies", ()) if isinstance(item, dict))
    return [name for name in named if name not in present]


def recorded_chart(files: Mapping[str, bytes]) -> JSON:
    """The `chart` of a release record."""
    lock = next((_document(files[name]) for name in _LOCKS if name in files), None)
    schema = files.get(_SCHEMA)
    return {
        "metadata": chart_metadata(files),
        "lock": lock,
        "templates": [_file(name, data) for name, data in files.items() if name.startswith("templates/")],
        "values": _document(files.get(_VALUES, b"")),
        "schema": None if schema is None else _encoded(schema),
        "files": [_file(name, data) for name, data in files.items() if _is_plain_file(name)],
    }


def _is_plain_file(name: str) -> bool:
    known = name in (CHART, *_LOCKS, _VALUES, _SCHEMA)
    return not known and (not name.startswith(("templates/", "charts/")) or name.endswith(".prov"))


def _file(name: str, data: bytes) -> JSON:
    return {"name": name, "data": _encoded(data)}


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _document(text: bytes) -> dict[str, Any]:
    try:
        document = next(documents(text, YAML_1_1), None)
    except BadDocument:
        return {}
    return document if isinstance(document, dict) else {}


if __name__ == "__main__":
    main()
