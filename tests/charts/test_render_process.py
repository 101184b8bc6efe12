"""Which variables a render worker gets: by name, and as the kernel shows them of a real worker. Level: pure."""

import os
from pathlib import Path

import pytest

from hookrunner.charts.renderer import RenderProcess, worker_environment
from tests.tables import each

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


@each("named", [{"KUBECONFIG": "/mine"}, {}])
def test_kubeconfig_brings_the_variables_of_its_login_programs(named: dict[str, str]) -> None:
    assert worker_environment(ORDINARY | LOGIN | OTHERS | named, lookup=True) == ORDINARY | LOGIN | named


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.mark.slow
@pytest.mark.parametrize("lookup", [False, True])
async def test_a_real_worker_has_no_variable_that_was_meant_for_hooks(
    lookup: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "1234")
    monkeypatch.setenv("HOOKRUNNER_CONFIG_SECRET", "name")
    before = children()
    worker = await RenderProcess.start((str(1 << 30), "0"), dict(os.environ) if lookup else None)
    await worker.wait_ready()
    [pid] = children() - before
    names = {line.partition("=")[0] for line in Path(f"/proc/{pid}/environ").read_text().split("\0")}
    await worker.end()
    assert "PATH" in names
    assert [name for name in names if name.startswith(("DATABASE", "HOOKRUNNER_"))] == []
