"""Charts are written from a mapping of paths to texts; one renderer, so one worker, serves a whole file of tests."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hookrunner.model.releases import Capabilities, RenderRequest
from kubetypes.json_values import JSON

CHART = "apiVersion: v2\nname: demo\nversion: 1.2.3\n"
NAMED = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"

Write = Callable[[Mapping[str, str]], Path]


def configmap(name: str, data: str = "") -> str:
    return NAMED.format(name=name) + (f"data:\n{data}" if data else "")


def order(
    directory: Path, values: JSON = None, name: str = "demo", labels: Mapping[str, str] | None = None
) -> RenderRequest:
    return RenderRequest(
        directory, name, "here", values or {}, Capabilities("v1.31.2", ("v1", "apps/v1")), labels=labels or {}
    )


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files below a new directory and returns it."""

    def written(files: Mapping[str, str]) -> Path:
        directory = tmp_path / "module"
        for path, text in files.items():
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return directory

    return written
