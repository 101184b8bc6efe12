"""The `helm` program as an engine, where the library is not available (macOS, musl): 50 ms a render instead of one.

`helm template` prints no notes, and `.Release.Revision` is always 1.
"""

import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from hookrunner.charts.helm_engine import RenderOptions
from hookrunner.errors import BadChart, RenderFailed
from kubetypes.json_values import JSON

_SOURCE = re.compile(r"^---\n# Source: (.*)\n", re.MULTILINE)
_LOADING = re.compile(r"parse error at|Chart\.yaml|chart\.metadata|cannot load|unpacking subchart|archive")


class HelmProgram:
    """Runs one `helm template` for each render."""

    def __init__(self, path: str) -> None:
        self._path = path

    def render(self, archive: bytes, values: JSON, options: RenderOptions) -> dict[str, str]:
        """Render; the texts by template path. Raises BadChart, or RenderFailed with Helm's unchanged message."""
        with tempfile.TemporaryDirectory(prefix="hookrunner-render-") as scratch:
            chart, given = Path(scratch, "chart.tgz"), Path(scratch, "values.json")
            chart.write_bytes(archive)
            given.write_bytes(orjson.dumps(values))
            arguments = [self._path, "template", options.name, str(chart), "--values", str(given), *_flags(options)]
            completed = self._run(arguments)
        if completed.returncode == 0:
            return _texts(completed.stdout)
        code = f"{self._path} ended with code {completed.returncode}"
        message = completed.stderr.replace(f"{scratch}/", "").strip().rpartition("Error: ")[2] or code
        raise BadChart(message) if _LOADING.search(message) else RenderFailed(message)

    def _run(self, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        pipe = subprocess.PIPE
        helm = None
        try:
            with _delay_signals():
                helm = subprocess.Popen(
                    arguments, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, encoding="utf-8", errors="replace"
                )
            output, errors = helm.communicate()
        except OSError as error:
            raise RenderFailed(f"{self._path} cannot be run: {error.strerror}") from None
        finally:
            if helm:
                helm.kill()
        return subprocess.CompletedProcess(arguments, helm.returncode, output, errors)


@contextmanager
def _delay_signals() -> Iterator[None]:
    """Delay signals that end this process until afterwards. One between the start of a process and the return of
    `Popen` would leave behind a process of which no reference is left."""
    pending: list[int] = []
    ending = (signal.SIGTERM, signal.SIGALRM)
    handlers = {number: signal.signal(number, lambda received, _: pending.append(received)) for number in ending}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for late in pending:
            signal.raise_signal(late)


def _flags(options: RenderOptions) -> Iterator[str]:
    yield from ("--namespace", options.namespace)
    if not options.install:
        yield "--is-upgrade"
    if options.kube_version:
        yield from ("--kube-version", options.kube_version)
    if options.api_versions:
        yield from ("--api-versions", ",".join(options.api_versions))
    if options.lookup:
        yield "--dry-run=server"


def _texts(output: str) -> dict[str, str]:
    """Texts by template. Helm prints documents by kind, so those of one template may stand apart; they are joined."""
    texts: dict[str, str] = {}
    parts = iter(_SOURCE.split(output)[1:])
    for path, text in zip(parts, parts, strict=True):
        texts[path] = f"{texts[path]}\n---\n{text}" if path in texts else text
    return texts
