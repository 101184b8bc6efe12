"""Which variables a render worker gets: by name, and as the kernel shows them of a real worker."""

import os
from pathlib import Path

import pytest

from hookrunner.charts.renderer import Renderer, worker_environment
from hookrunner.errors import RenderFailed
from tests.charts.conftest import Write, order

ORDINARY = {"PATH": "/bin", "HOME": "/home/me", "LC_ALL": "C", "PYTHONPATH": "/lib", "GOGC": "50"}
POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
LOGIN = {"AWS_PROFILE": "mine", "GOOGLE_APPLICATION_CREDENTIALS": "/key.json"}
OTHERS = {
    "DATABASE_PASSWORD": "1234",
    "HOOKRUNNER_CONFIG_SECRET": "name",
    "HELM_KUBECONTEXT": "other",
    "HELM_PLUGINS": "/plugins",
    "LD_PRELOAD": "/x.so",
    "GOOGLY": "1",
    "PATHS": "1",
}


def test_without_a_cluster_a_worker_gets_only_basic_variables() -> None:
    assert worker_environment(ORDINARY | POD | LOGIN | OTHERS | {"KUBECONFIG": "/mine"}, lookup=False) == ORDINARY


def test_a_pod_finds_its_cluster_without_credentials_of_its_environment() -> None:
    assert worker_environment(ORDINARY | POD | LOGIN | OTHERS, lookup=True) == ORDINARY | POD


@pytest.mark.parametrize("named", [{"KUBECONFIG": "/mine"}, {}])
def test_kubeconfig_brings_the_variables_of_its_login_programs(named: dict[str, str]) -> None:
    assert worker_environment(ORDINARY | LOGIN | OTHERS | named, lookup=True) == ORDINARY | LOGIN | named


@pytest.mark.slow
@pytest.mark.parametrize("lookup", [False, True])
async def test_a_real_worker_has_no_variable_that_was_meant_for_hooks(
    lookup: bool, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen by the `helm` that the worker starts."""
    monkeypatch.setenv("DATABASE_PASSWORD", "1234")
    monkeypatch.setenv("HOOKRUNNER_CONFIG_SECRET", "name")
    directory = write({"helm": f"#!/bin/sh\nenv > {tmp_path}/seen; exit 1\n"})
    (directory / "helm").chmod(0o755)
    async with Renderer(environ=dict(os.environ) if lookup else None, program=str(directory / "helm")) as renderer:
        with pytest.raises(RenderFailed):
            await renderer.render(order(directory))
    names = {line.partition("=")[0] for line in (tmp_path / "seen").read_text().splitlines()}
    assert "PATH" in names
    assert [name for name in names if name.startswith(("DATABASE", "HOOKRUNNER_"))] == []
