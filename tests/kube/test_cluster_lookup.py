"""Which cluster processes see that hookrunner starts: environments, and the directory of a kubeconfig made for them.

Level: pure."""

import os
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.kube.cluster_lookup import (
    in_cluster_of,
    shared,
    with_kubeconfig,
    without_cluster,
)
from hookrunner.settings import HooksSettings, KubeSettings, Settings
from tests.controlplane.tools import find_tool

POD = {
    "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    "KUBERNETES_SERVICE_PORT": "443",
    "KUBERNETES_SERVICE_PORT_HTTPS": "443",
    "KUBERNETES_PORT": "tcp://10.0.0.1:443",
    "KUBERNETES_PORT_443_TCP_ADDR": "10.0.0.1",
}
LEADING = POD | {
    "KUBECONFIG": "/mine",
    "KUBERNETES_MASTER": "http://10.0.0.1",
    "KUBE_CONFIG": "/mine",
    "HOOKRUNNER_KUBE_CONTEXT": "mine",
    "KUBE_CONFIG_PATH": "/mine",
    "HELM_KUBECONTEXT": "mine",
    "K8S_AUTH_HOST": "http://10.0.0.1",
}
OTHERS = {
    "PATH": "/bin",
    "KUBERNETES_DASHBOARD_SERVICE_HOST": "10.0.0.2",
    "KUBERNETES_VERSION": "1.33",
    "HELM_HOME": "/",
}


def kubectl(environ: Mapping[str, str], home: Path) -> str:
    """The server that real kubectl asks."""
    words = [str(find_tool("kubectl")), "get", "--raw=/version", "-v=6", "--request-timeout=5s"]
    env = {"PATH": os.environ["PATH"], "HOME": str(home), **environ}
    errors = subprocess.run(words, env=env, cwd="/", capture_output=True, text=True, check=False).stderr
    return next(word for word in errors.replace("\\", "").replace('"', " ").split() if word.startswith("http"))


def test_only_variables_that_lead_to_a_cluster_are_taken_out() -> None:
    assert with_kubeconfig(LEADING | OTHERS, "/theirs") == OTHERS | {"KUBECONFIG": "/theirs"}
    assert without_cluster(LEADING | OTHERS).keys() - OTHERS.keys() == {"KUBECONFIG", "KUBERNETES_MASTER"}


def test_without_a_cluster_kubectl_asks_a_server_that_cannot_exist(tmp_path: Path) -> None:
    """Neither the one of the environment nor localhost:8080, where `kubectl proxy` may lead to a real one."""
    assert kubectl(without_cluster(LEADING), tmp_path).startswith("http://127.0.0.1:0/")


def test_a_pods_environment_stays_as_it_is() -> None:
    assert in_cluster_of(POD | OTHERS, KubeSettings()) == POD | OTHERS
    assert in_cluster_of(POD | {"HELM_NAMESPACE": "a"}, KubeSettings()) == POD | {"HELM_NAMESPACE": "a"}


def test_a_kubeconfig_of_the_environment_holds_in_every_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks run in directories of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    found = in_cluster_of({"KUBECONFIG": "one:/two::~/three"}, KubeSettings())
    assert found == {"KUBECONFIG": f"{tmp_path}/one:/two:/home/me/three"}


def test_a_named_kubeconfig_is_the_only_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert in_cluster_of(LEADING, KubeSettings(config=Path("theirs"))) == {"KUBECONFIG": f"{tmp_path}/theirs"}


def test_a_named_context_has_a_kubeconfig_of_its_own_while_it_is_needed(tmp_path: Path) -> None:
    asked = Settings(
        hooks=HooksSettings(tmp_dir=tmp_path / "tmp", environ=LEADING), kube=KubeSettings(context="staging")
    )
    with shared(asked) as seen:
        assert seen.kube.derived is not None
        assert seen.hooks.environ == {"KUBECONFIG": str(seen.kube.derived)}
        assert stat.S_IMODE(seen.kube.derived.parent.stat().st_mode) == 0o700
    assert list((tmp_path / "tmp").iterdir()) == []
    with shared(replace(asked, kube=KubeSettings())) as seen:
        assert seen.kube.derived is None
