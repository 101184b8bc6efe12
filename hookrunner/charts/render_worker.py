"""The render worker: a process that `render_process.py` asks for one render after another, until its socket is closed.

Requests and answers are JSON with 4 bytes of length before them; an answer has one more byte in front: `=` and what was
rendered, `C` and a message for a bad chart, `R` for a render that failed. The first thing it says is that it is ready.

What a template takes too much of, memory, ends the process: Go's runtime gives up when the kernel refuses. The limit is
on private data (RLIMIT_DATA), since Go reserves far more addresses than it uses. stderr is a file for last words; each
render begins it anew.
"""

import gc
import os
import resource
import shutil
import signal
import socket
import struct
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from hookrunner.charts import chart_files, chart_record
from hookrunner.charts.helm_engine import Engine, Options, brief, built_in, compatible, flat, of_syntax, packed
from hookrunner.charts.manifests import manifests
from hookrunner.errors import BadChart, BadManifest, RenderFailed

_GRACE = 1.0
"""Seconds beyond the deadline, at which the parent ends us if it is still there."""

_PACKED = 64
"""Charts that are kept ready; some have megabytes."""

LENGTH = struct.Struct("!I")  # as in hookrunner/worker.py, which would load asyncio here


def main() -> None:
    """The arguments are the socket's descriptor, the bytes of memory, the program, the seconds of the deadline. The
    garbage collector is off until all is imported."""
    channel, memory, program = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
    longest = float(sys.argv[4]) and float(sys.argv[4]) + _GRACE
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which still needs us
    with channel, channel.makefile("rb") as requests:
        try:
            engine = _engine(program)
            charts = Charts(engine, built_in(engine))
        except (BadChart, RenderFailed) as error:
            _say(channel, b"!" + str(error).encode())
            return
        gc.freeze()  # all that has been imported is there to stay
        gc.enable()
        _limit(memory)
        _say(channel, b"=" + type(engine).__name__.encode())
        while head := requests.read(LENGTH.size):
            os.ftruncate(sys.stderr.fileno(), 0)
            signal.setitimer(signal.ITIMER_REAL, longest)
            answer = charts.answer(requests.read(LENGTH.unpack(head)[0]))
            signal.setitimer(signal.ITIMER_REAL, 0)
            _say(channel, answer)


def _say(channel: socket.socket, answer: bytes) -> None:
    channel.sendall(LENGTH.pack(len(answer)) + answer)


def _engine(program: str) -> Engine:
    """The program if one is named, else the library, else `helm` from PATH. Raises RenderFailed if there is neither."""
    if program:
        return _program(program)
    try:
        # Here and not above: it may not be installed, or not load on this system.
        from hookrunner.charts.helm_library import Library

        return Library()
    except Exception as error:  # its own error class cannot be had when it does not load
        if path := shutil.which("helm"):
            return _program(path)
        raise RenderFailed(
            f"charts cannot be rendered: helm-python-sdk does not load ({error}), and there is no helm on PATH: "
            "install either"
        ) from None


def _program(path: str) -> Engine:
    """Signals are to end the program, too. Not so with the library: Python's handlers would wait until Go returns, and
    without them the process ends as it is."""
    # Here and not above: whoever has the library does not need what starts processes.
    from hookrunner.charts.helm_program import Program

    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, lambda *_: sys.exit(1))
    return Program(path)


def _limit(memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # macOS does not count data
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[5])
        most = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


class Charts:
    """Renders charts; packs each again only when one of its files has changed."""

    def __init__(self, engine: Engine, built_in: int) -> None:
        self._engine = engine
        self._built_in = built_in
        self._loaded = lru_cache(maxsize=_PACKED)(self._load)

    def answer(self, request: bytes) -> bytes:
        order = orjson.loads(request)
        try:
            return b"=" + orjson.dumps(self._rendered(order))
        except BadChart as error:
            return b"C" + str(error).encode(errors="replace")
        except BadManifest as error:
            return b"M" + brief(str(error), None if order["quotes"] else order["values"]).encode(errors="replace")
        except RenderFailed as error:
            kind = b"C" if of_syntax(str(error)) else b"R"
            return kind + brief(str(error), None if order["quotes"] else order["values"]).encode(errors="replace")
        except orjson.JSONEncodeError as error:  # nested deeper than orjson writes (254 levels)
            return b"R" + f"an object in {order['directory']} cannot be written as JSON: {error}".encode()

    def _rendered(self, order: dict[str, Any]) -> dict[str, object]:
        directory = Path(order["directory"])
        scan = chart_files.scan(directory)
        archive, kept = self._loaded(directory, order["name"], scan.fingerprint)
        options = _options(order, scan.looks_up)
        self._check(kept["metadata"], options)
        texts = self._engine.render(archive, order["values"], options)
        return {"found": manifests(texts, kept["metadata"]["name"], order["labels"]), "chart": kept}

    def _load(self, directory: Path, name: str, fingerprint: str) -> tuple[bytes, dict[str, Any]]:
        found = dict(flat(chart_files.contents(directory)))
        if chart_files.CHART not in found:
            found[chart_files.CHART] = chart_record.synthetic(name)
        kept = chart_record.chart(found)
        if missing := chart_record.missing(found, kept["metadata"]):
            names = ", ".join(missing)
            raise BadChart(f"found in Chart.yaml, but missing in charts/ directory: {names}; run helm dependency build")
        return packed(found, self._built_in), kept

    def _check(self, metadata: dict[str, Any], options: Options) -> None:
        """What Helm checks outside its engine, before it renders. Raises BadChart."""
        wanted = metadata.get("kubeVersion")
        if wanted and not compatible(self._engine, wanted, options):
            cluster = options.kube_version
            raise BadChart(f"chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {cluster}")
        if metadata.get("type") == "library":
            raise BadChart("a library chart cannot be installed: put templates into a chart that depends on it")


def _options(order: dict[str, Any], looks_up: bool) -> Options:
    return Options(
        name=order["name"],
        namespace=order["namespace"],
        install=order["install"],
        revision=order["revision"],
        kube_version=order["kube_version"],
        api_versions=tuple(order["api_versions"]),
        lookup=looks_up and order["lookup"],
    )


if __name__ == "__main__":
    main()
