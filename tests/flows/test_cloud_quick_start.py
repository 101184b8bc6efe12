"""The first pages of docs/cloud.md, as they stand there: a simulated cloud, in two terminals; and a provider of one's
own, on a real control plane, in an empty directory.

Level: control plane."""

import asyncio
import os
import re
import shlex
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.controlplane.cluster import OwnCluster
from tests.controlplane.tools import find_tool
from tests.flows.test_quick_start import Shown
from tests.flows.waiting import PATIENCE, until
from tests.pages import DOCS, Console, steps

ROOT = DOCS.parent
FIRST = re.findall(r"^    hookrunner (cloud start --sandbox .*)$", (DOCS / "cloud.md").read_text(), re.MULTILINE)

EXPECTED = {
    "kubectl get nodes -o wide": r"worker-1 +Ready .* 10\.240\.0\.\d+ +198\.19\.0\.\d+",
    "kubectl describe node worker-1": r"ProviderID: +simcloud://[\s\S]*Synced",
    "kubectl expose deployment web --port 80 --type LoadBalancer": "service/web exposed",
    "kubectl get service web": r"LoadBalancer +\S+ +198\.18\.0\.1 ",
    "providers/simcloud terminate worker-2": "",
    "kubectl get nodes": r"(?s)^(?!.*worker-2).*worker-3",
    "providers/simcloud fail --verb instances --code garbage": "",
    "hookrunner cloud status": r"provider  simcloud[\s\S]*Unavailable",
}
"""What is shown by each command, at once or a moment later."""
OWN = (DOCS / "cloud.md").read_text().partition("## Your own cloud")[2].partition("\n## ")[0]
OWN_COMMANDS = [line.strip() for line in re.findall(r"^    (hookrunner [^#\n]*)", OWN, re.MULTILINE)]
OWN_NODE = re.findall(r"```sh\n(.*?)```", OWN, re.DOTALL)
OWN_EXPECTED = {
    "hookrunner new provider my-cloud": "cloud check ./my-cloud",
    "hookrunner cloud check ./my-cloud --node worker-1": "my-cloud: 27 ok, 10 skipped",
    "hookrunner cloud call ./my-cloud instances --node worker-1": '"providerID": "my-cloud://m-1"',
    "hookrunner cloud rbac | kubectl apply -f -": "clusterrole.rbac.authorization.k8s.io/hookrunner-cloud created",
    "hookrunner cloud start --cloud-provider ./my-cloud --node-delete-dry-run": "became leader",
}
"""What is printed, all but the last of which end."""
KEPT = ["control-plane-1", "worker-1", "worker-3"]
"""The Nodes that no answer of a broken cloud deletes; worker-3 is not ready, so an answer `notFound` would."""
CONFIRMATIONS = 3
LOOKS, PAUSE = 120, 0.5
"""A look is a process of kubectl or of hookrunner."""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Places that no other test uses, and the programs that the page names."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "kubectl").symlink_to(find_tool("kubectl"))
    (tools / "hookrunner").write_text(f'#!/bin/sh\nexec {sys.executable} -m hookrunner "$@"\n')
    (tools / "hookrunner").chmod(0o755)
    return {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "HOOKRUNNER_LISTEN_PORT": "0",
        "HOOKRUNNER_TMP_DIR": str(tmp_path / "tmp"),
        "HOOKRUNNER_DEBUG_UNIX_SOCKET": str(tmp_path / "socket"),
        "HOOKRUNNER_SANDBOX_KUBECONFIG": str(tmp_path / "kubeconfig"),
        "HOOKRUNNER_LOG_TYPE": "text",
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
    }


@pytest.fixture
async def started(environ: dict[str, str]) -> AsyncIterator[tuple[Process, Shown]]:
    """The first terminal."""
    (command,) = FIRST
    environ = {name: value for name, value in environ.items() if name != "KUBECONFIG"}
    program = (sys.executable, "-m", "hookrunner", *shlex.split(command))
    child = await asyncio.create_subprocess_exec(*program, cwd=ROOT, env=environ, stdout=PIPE, stderr=STDOUT)
    yield child, (shown := Shown(child))
    if child.returncode is None:
        child.kill()
    await child.wait()
    await shown.all()


async def run(environ: dict[str, str], line: str, directory: Path = ROOT) -> str:
    """One line of the page in the second terminal; what it prints."""
    child = await asyncio.create_subprocess_shell(line, cwd=directory, env=environ, stdout=PIPE, stderr=STDOUT)
    return (await child.communicate())[0].decode()


def _count_calls(environ: dict[str, str]) -> int:
    """How often the cloud was asked about instances, whatever it answered."""
    (log,) = Path(environ["TMPDIR"]).glob("*/*.calls")
    return log.read_text().count('"verb": "instances"')


async def test_the_first_page_does_what_it_says(started: tuple[Process, Shown], environ: dict[str, str]) -> None:
    child, shown = started
    await shown.says("export KUBECONFIG=")
    commands = [command for step in steps("cloud.md") if isinstance(step, Console) for command, _ in step.commands]
    assert commands == list(EXPECTED)
    for command, pattern in EXPECTED.items():
        printed = await run(environ, command)
        for _ in range(LOOKS):
            if re.search(pattern, printed):
                break
            await asyncio.sleep(PAUSE)
            printed = await run(environ, command)
        assert re.search(pattern, printed), f"{command}\n{printed}\n{shown.text}"
    calls = _count_calls(environ)
    await until(
        lambda: _count_calls(environ) > calls + CONFIRMATIONS, "more garbage than deletes a Node if it were true"
    )
    assert re.findall(r"(?m)^(\S+) +(?:Not)?Ready", await run(environ, "kubectl get nodes")) == KEPT
    child.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(child.wait(), PATIENCE) == 0, shown.text


@pytest.mark.nightly
async def test_a_provider_of_ones_own_initialises_a_node_of_a_real_cluster(
    environ: dict[str, str], own_cluster: OwnCluster, tmp_path: Path
) -> None:
    (empty := tmp_path / "empty").mkdir()
    environ["KUBECONFIG"] = str(own_cluster.kubeconfig)
    *before, (start, said) = OWN_EXPECTED.items()
    assert OWN_COMMANDS[: len(OWN_EXPECTED)] == list(OWN_EXPECTED)
    for command, pattern in before:
        assert pattern in await run(environ, command, empty), command
    child = await asyncio.create_subprocess_exec(
        *shlex.split(start), cwd=empty, env=environ, stdout=PIPE, stderr=STDOUT
    )
    shown = Shown(child)
    try:
        await shown.says(said)
        (made,) = OWN_NODE
        assert "node/worker-1 created" in await run(environ, made, empty)
        for _ in range(LOOKS):
            if "10.0.0.1" in (printed := await run(environ, "kubectl get node worker-1 -o wide", empty)):
                break
        assert "10.0.0.1" in printed, shown.text
        child.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(child.wait(), PATIENCE) == 0, shown.text
    finally:
        if child.returncode is None:
            child.kill()
        await shown.all()
