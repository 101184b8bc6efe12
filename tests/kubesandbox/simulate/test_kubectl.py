"""kubectl on a sandbox that simulates: what a user types in a demo. Level: sandbox."""

import asyncio
from pathlib import Path

import pytest

from kubesandbox.sandbox import Options, serving
from kubesandbox.simulate.loop import simulating
from kubesandbox.simulate.world import Pace
from tests.controlplane.tools import find_tool
from tests.kubesandbox.simulate.test_deployments import DEPLOYMENT

QUICK = Pace(schedule=0.01, pull=0.02, init=0.02, ready=0.02, run=0.1, stop=0.02, bind=0.005)


async def kubectl(config: Path, *words: str) -> str:
    process = await asyncio.create_subprocess_exec(
        str(find_tool("kubectl")), f"--kubeconfig={config}", *words, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, words
    return said.decode()


@pytest.mark.slow
async def test_rollouts_can_be_followed_undone_and_restarted(tmp_path: Path) -> None:
    config, manifest = tmp_path / "kubeconfig", tmp_path / "web.yaml"
    manifest.write_text(DEPLOYMENT)
    async with serving(Options()) as sandbox, simulating(sandbox.api, QUICK):
        config.write_text(sandbox.kubeconfig())
        await kubectl(config, "apply", "-f", str(manifest))
        status = ("rollout", "status", "deployment/web", "--timeout=60s")
        assert "successfully rolled out" in await kubectl(config, *status)
        await kubectl(config, "set", "image", "deployment/web", "c=nginx:2")
        await kubectl(config, *status)
        await kubectl(config, "rollout", "undo", "deployment/web")
        await kubectl(config, *status)
        await kubectl(config, "rollout", "restart", "deployment/web")
        await kubectl(config, *status)
        assert "\n4 " in await kubectl(config, "rollout", "history", "deployment/web")
        await kubectl(config, "wait", "--for=condition=Available", "deployment/web", "--timeout=60s")
        described = await kubectl(config, "describe", "deployment/web")
    assert "Scaled up replica set" in described
