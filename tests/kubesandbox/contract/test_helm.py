"""The life of a release of our own chart by helm, as an operator's author would try it. Level: sandbox."""

import json
import os
import subprocess
from pathlib import Path

from tests.controlplane.tools import find_tool
from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.objects import at

CHART = Path(__file__).parents[3] / "charts" / "hookrunner"


def helm(sandboxed: Api, ns: str, *words: str) -> str:
    """What helm prints."""
    places = {place: str(sandboxed.kubeconfig.parent / "helm") for place in ("HELM_CACHE_HOME", "HELM_CONFIG_HOME")}
    environ = {**os.environ, **places, "KUBECONFIG": str(sandboxed.kubeconfig)}
    command = [str(find_tool("helm")), "--namespace", ns, *words]
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_helm_brings_the_chart_to_life_changes_it_and_takes_it_away(sandboxed: Api) -> None:
    ns = sandboxed.namespace()
    hook = f"hooks.pod-security\\.sh={CHART.parents[1] / 'hooks' / 'pod-security.sh'}"

    def levels() -> list[str]:
        """The log levels in the one Deployment, which has no status: `helm install --wait` would never end."""
        (deployed,) = sandboxed.get(at("deployments", ns))["items"]
        assert deployed["status"] == {}
        variables = deployed["spec"]["template"]["spec"]["containers"][0]["env"]
        return [variable["value"] for variable in variables if variable["name"] == "HOOKRUNNER_LOG_LEVEL"]

    assert "STATUS: deployed" in helm(sandboxed, ns, "install", "ours", str(CHART), "--set-file", hook)
    helm(sandboxed, ns, "upgrade", "ours", str(CHART), "--reuse-values", "--set", "settings.log-level=debug")
    assert levels() == ["debug"]
    helm(sandboxed, ns, "rollback", "ours", "1")
    assert levels() == []
    history = json.loads(helm(sandboxed, ns, "history", "ours", "-o", "json"))
    assert [revision["revision"] for revision in history] == [1, 2, 3]
    status = json.loads(helm(sandboxed, ns, "status", "ours", "-o", "json"))
    assert (status["info"]["status"], "kind: Deployment" in status["manifest"]) == ("deployed", True)
    helm(sandboxed, ns, "uninstall", "ours")
    assert json.loads(helm(sandboxed, ns, "list", "-o", "json")) == []
    assert sandboxed.get(at("deployments", ns))["items"] == []
