"""The chart as the real helm renders it."""

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.tools import find_tool

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "hookrunner"
RULES = """
rbac:
  rules:
    - {apiGroups: [""], resources: [namespaces], verbs: [get, list, watch, patch]}
"""

Render = Callable[..., str]


@cache
def _run_helm(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(find_tool("helm")), *words], capture_output=True, text=True)


def render_chart(*flags: str, release: str = "watch", namespace: str = "default") -> str:
    """The manifests of a release. What helm makes of the same words is asked for once."""
    done = _run_helm("template", release, str(CHART), "--namespace", namespace, *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_refusal(*flags: str) -> str:
    """Why helm makes nothing of these flags."""
    done = _run_helm("template", "watch", str(CHART), *flags)
    assert done.returncode == 1
    return done.stderr


@pytest.fixture
def render(namespace: str, tmp_path: Path) -> Render:
    """`render(*flags)`: the manifests of a release in the test's namespace, with rules for the shipped hook."""
    (rights := tmp_path / "rights.yaml").write_text(RULES)
    return lambda *flags: render_chart("--values", str(rights), *flags, namespace=namespace)


RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def render_rights(release: str, *flags: str, namespace: str = "default") -> list[Any]:
    """The account of a release and its rights, without those of its Jobs."""
    manifests = render_chart(*flags, release=release, namespace=namespace)
    found = [obj for obj in yaml.safe_load_all(manifests) if obj and obj["kind"] in RIGHTS]
    return [obj for obj in found if "helm.sh/hook" not in obj["metadata"].get("annotations", {})]


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
