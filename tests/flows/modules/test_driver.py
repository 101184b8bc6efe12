"""Records of releases as ConfigMaps (`--helm-driver configmap`), and what a change of the driver asks for.

Level: control plane."""

import asyncio
import json
import os
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

from hookrunner.cli.debug import ask
from tests.controlplane.cluster import Cluster
from tests.controlplane.tools import find_tool
from tests.flows.modules.hooks import configmap
from tests.flows.modules.world import World

RECORD = "sh.helm.release.v1."
PAGE = Path(__file__).parents[3] / "docs" / "operations.md"


async def said(program: Path, cluster: Cluster, world: World, driver: str, *words: str) -> Any:
    """What the stock helm says with this driver."""
    environ = os.environ | {"KUBECONFIG": str(cluster.kubeconfig), "HELM_DRIVER": driver}
    command: list[str | Path] = [program, *words, "-n", world.namespace, "-o", "json"]
    told = await asyncio.to_thread(lambda: subprocess.run(command, env=environ, capture_output=True, check=True).stdout)
    return json.loads(told)


async def records(world: World, resource: str) -> list[str]:
    items = (await world.ask("GET", world.path(resource=resource), None))["items"]
    return sorted(one["metadata"]["name"].removeprefix(RECORD) for one in items if RECORD in one["metadata"]["name"])


async def alpha(world: World) -> Any:
    return (await world.ask("GET", world.path("alpha"), None) or {}).get("data")


async def begun(world: World) -> None:
    """Two modules are installed by the driver `configmap`, and one is upgraded."""
    world.operator.flags = (*world.operator.flags, "--helm-driver=configmap")
    world.module("010-alpha", {"templates/cm.yaml": configmap("alpha", "x: {{ .Values.alpha.x | quote }}")})
    world.module("020-beta", {"templates/cm.yaml": configmap("beta", "x: z")})
    await world.configure(alphaEnabled="true", betaEnabled="true", alpha="x: one")
    await world.start()
    assert await alpha(world) == {"x": "one"}
    await world.configure(alpha="x: two")
    upgraded = ["alpha.v1 superseded", "alpha.v2 deployed", "beta.v1 deployed"]
    await world.until(lambda: world.releases("configmaps"), upgraded, "records")
    assert await alpha(world) == {"x": "two"}


async def test_a_release_lives_in_configmap_records(real: World, cluster: Cluster, helm: Path) -> None:
    """Installed, upgraded, rolled back, uninstalled, and left alone at a restart."""
    await begun(real)
    await asyncio.to_thread(ask, (real.directory / "debug.socket",), "/module/alpha/rollback?revision=1", {})
    assert await alpha(real) == {"x": "one"}
    listed = await said(helm, cluster, real, "configmap", "list")
    assert [(one["name"], one["revision"], one["status"]) for one in listed] == [
        ("alpha", "3", "deployed"),
        ("beta", "1", "deployed"),
    ]
    history = await said(helm, cluster, real, "configmap", "history", "alpha")
    assert [(one["status"], one["description"]) for one in history][1:] == [
        ("superseded", "Upgrade complete"),
        ("deployed", "Rollback to 1"),
    ]
    assert await records(real, "secrets") == []
    await real.stop()
    real.writes()
    await real.again()
    assert real.writes() == []
    await real.configure(alphaEnabled="false")
    await real.until(lambda: records(real, "configmaps"), ["beta.v1"], "records")
    assert await alpha(real) is None


def moving_commands(namespace: str) -> str:
    """Those of docs/operations.md, from ConfigMaps to Secrets."""
    section = PAGE.read_text().partition("### Another --helm-driver\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("    ")]
    return "\n".join(lines).replace("NAMESPACE", namespace)


async def move_records(world: World, cluster: Cluster) -> None:
    path = f"{find_tool('kubectl').parent}:{os.environ['PATH']}"
    environ = os.environ | {"KUBECONFIG": str(cluster.kubeconfig), "PATH": path}
    command = ["bash", "-euo", "pipefail", "-c", moving_commands(world.namespace)]
    run = partial(subprocess.run, command, env=environ, cwd=world.directory, check=True)
    await asyncio.to_thread(run)


async def test_a_change_of_driver_is_refused_until_the_records_are_moved(
    real: World, cluster: Cluster, helm: Path
) -> None:
    """Also of what was turned off meanwhile; then nothing else is written, and the next upgrade goes on from there."""
    await begun(real)
    await real.stop()
    real.writes()
    await real.configure(betaEnabled="false")
    real.operator.flags = tuple(flag for flag in real.operator.flags if "helm-driver" not in flag)
    await real.again(ready=False)
    await real.operator.wait_log("its records are ConfigMaps, not Secrets")
    await real.module_is("alpha", ready=False, reason="start with --helm-driver configmap as before")
    assert await records(real, "configmaps") == ["alpha.v1", "alpha.v2", "beta.v1"]
    assert await real.ask("GET", real.path("beta"), None) is not None
    assert [line for line in real.writes() if "hookrunner" not in line] == []
    await real.stop()
    await move_records(real, cluster)
    real.writes()
    await real.again()
    assert await records(real, "secrets") == ["alpha.v1", "alpha.v2"]
    assert await records(real, "configmaps") == []
    assert await real.ask("GET", real.path("beta"), None) is None
    written = [line for line in real.writes() if "sh.helm" not in line and "secrets" not in line]
    assert written == ["DELETE configmaps/beta"]
    history = await said(helm, cluster, real, "secret", "history", "alpha")
    assert [(one["revision"], one["status"]) for one in history] == [(1, "superseded"), (2, "deployed")]
    assert await said(helm, cluster, real, "configmap", "list") == []
    await real.configure(alpha="x: three")
    await real.until(lambda: records(real, "secrets"), ["alpha.v1", "alpha.v2", "alpha.v3"], "records")
