"""The chart as the real helm renders it."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "hookrunner"
RULES = """
rbac:
  rules:
    - {apiGroups: [""], resources: [namespaces], verbs: [get, list, watch, patch]}
"""

Render = Callable[..., str]


@pytest.fixture
def render(helm: Path, namespace: str, tmp_path: Path) -> Render:
    """`render(*flags)`: the manifests of a release in the test's namespace, with rules for the shipped hook."""
    (rights := tmp_path / "rights.yaml").write_text(RULES)

    def call(*flags: str) -> str:
        command = [
            str(helm),
            "template",
            "watch",
            str(CHART),
            "--namespace",
            namespace,
            "--values",
            str(rights),
            *flags,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def objects(manifests: str) -> dict[str, Any]:
    """Rendered objects by kind."""
    return {obj["kind"]: obj for obj in yaml.safe_load_all(manifests) if obj}


def named(manifests: str) -> dict[str, Any]:
    """Rendered objects by kind and name, without the namespace that names of cluster-wide objects begin with."""
    found = {}
    for obj in yaml.safe_load_all(manifests):
        name = obj["metadata"]["name"]
        found[f"{obj['kind']}/{name[name.index('watch') :]}"] = obj
    return found
