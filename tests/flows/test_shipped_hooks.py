"""The hooks that ship with the project, as a newcomer runs them: on a real API server, changed by a real kubectl."""

import asyncio
from pathlib import Path

from tests.controlplane.cluster import Cluster
from tests.flows.conftest import Start
from tests.flows.waiting import until

HOOKS = Path(__file__).parents[2] / "hooks"


async def test_a_new_namespace_gets_its_pod_security_label(operator: Start, own_cluster: Cluster) -> None:
    """The README's hook and its first command: an object made with kubectl, and the hook's change to it."""
    script = (HOOKS / "pod-security.sh").read_text()
    await operator({"pod-security.sh": script}, kubeconfig=own_cluster.kubeconfig)
    await asyncio.to_thread(own_cluster.kubectl, "create", "namespace", "demo")
    path = r"jsonpath={.metadata.labels.pod-security\.kubernetes\.io/warn}"
    await until(lambda: own_cluster.kubectl("get", "namespace", "demo", "-o", path) == "baseline", "the label")
    await until(lambda: own_cluster.kubectl("get", "namespace", "default", "-o", path) == "baseline", "the label")
