"""What the render worker asks of Helm: of its library (`library.py`) or of the `helm` program (`program.py`)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from hookrunner.charts.archive import packed
from hookrunner.errors import RenderFailed
from hookrunner.model.resources import JSON

_CHART = b"name: probe\nversion: 1.0.0\napiVersion: v2\n"


@dataclass(frozen=True, slots=True)
class Options:
    """The rest of what templates see. An empty `kube_version` is the engine's own. With `lookup`, templates see the
    cluster that the worker's environment leads to; without it they find nothing there."""

    name: str = "release"
    namespace: str = "default"
    install: bool = False
    revision: int = 1
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()
    lookup: bool = False


class Engine(Protocol):
    """Renders packed charts, one at a time."""

    def render(self, archive: bytes, values: JSON, options: Options) -> dict[str, str]:
        """Rendered texts by template path. Raises BadChart, or RenderFailed with Helm's message as it is."""


def built_in(engine: Engine) -> int:
    """How many API versions templates see without being told of any."""
    return int(_asked(engine, b"{{ len .Capabilities.APIVersions }}", {}, Options()))


def compatible(engine: Engine, wanted: str, options: Options) -> bool:
    """Is the cluster's version in a range, as Helm reads ranges? Raises RenderFailed if it is no range."""
    question = b"{{ semverCompare .Values.range .Capabilities.KubeVersion.String }}"
    return _asked(engine, question, {"range": wanted}, options) == "true"


def _asked(engine: Engine, question: bytes, values: Mapping[str, str], options: Options) -> str:
    files = {"Chart.yaml": _CHART, "templates/x.yaml": b"answer: " + question}
    [text] = engine.render(packed(files), values, options).values()
    if match := re.search(r"answer: (\w+)", text):
        return match[1]
    raise RenderFailed(f"Helm's engine gives no sensible answer to a simple chart: {text[:200]!r}")
