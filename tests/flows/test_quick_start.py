"""The first command of docs/quickstart.md, as it stands there, where PATH has Python and nothing else.

Level: sandbox."""

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

from tests.controlplane.tools import find_tool
from tests.flows.waiting import PATIENCE, until, until_is

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "quickstart.md").read_text()


class Shown:
    """What a program prints, as it comes."""

    def __init__(self, child: Process) -> None:
        self.text = ""
        self._reading = asyncio.create_task(self._read(child))

    async def _read(self, child: Process) -> None:
        assert child.stdout is not None
        async for line in child.stdout:
            self.text += line.decode()

    async def all(self) -> None:
        """Read to the end."""
        await self._reading

    async def says(self, pattern: str) -> re.Match[str]:
        """Wait for a line."""
        found = await until(lambda: re.search(pattern, self.text), f"{pattern} to be told")
        assert found is not None
        return found


@pytest.fixture
async def started(tmp_path: Path) -> AsyncIterator[tuple[Process, Shown, dict[str, str]]]:
    """The command running; only places that other tests may use at the same time are elsewhere."""
    (command,) = re.findall(r"^    hookrunner (start --sandbox .*--seed .*)", PAGE, re.MULTILINE)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    environ = {
        "PATH": str(tmp_path / "bin"),
        "HOME": str(tmp_path),
        "HOOKRUNNER_LISTEN_PORT": "0",
        "HOOKRUNNER_TMP_DIR": str(tmp_path / "tmp"),
        "HOOKRUNNER_DEBUG_UNIX_SOCKET": str(tmp_path / "socket"),
        "HOOKRUNNER_SANDBOX_KUBECONFIG": str(tmp_path / "kubeconfig"),
        "HOOKRUNNER_LOG_TYPE": "text",
    }
    program = (sys.executable, "-m", "hookrunner", *shlex.split(command))
    child = await asyncio.create_subprocess_exec(*program, cwd=ROOT, env=environ, stdout=PIPE, stderr=STDOUT)
    yield child, (shown := Shown(child)), environ
    if child.returncode is None:
        child.kill()
    await child.wait()
    await shown.all()


async def kubectl(environ: dict[str, str], line: str) -> str:
    """One line of the page."""
    words = shlex.split(line, comments=True)[1:]
    environ = {**os.environ, "KUBECONFIG": environ["HOOKRUNNER_SANDBOX_KUBECONFIG"], "KUBECACHEDIR": environ["HOME"]}
    child = await asyncio.create_subprocess_exec(find_tool("kubectl"), *words, env=environ, stdout=PIPE, stderr=STDOUT)
    return (await child.communicate())[0].decode()


async def test_the_first_command_shows_hooks_at_work(started: tuple[Process, Shown, dict[str, str]]) -> None:
    child, shown, environ = started
    assert (await shown.says(r"export KUBECONFIG=(\S+)"))[1] == environ["HOOKRUNNER_SANDBOX_KUBECONFIG"]
    await shown.says("default/registry is copied to blog, shop")
    play = re.findall(r"(?m)^kubectl (?:create namespace party|get secrets|patch configmap greeting).*", PAGE)
    assert len(play) == 3
    assert "namespace/party created" in await kubectl(environ, play[0])
    await shown.says("copied to party")
    await shown.says("party gets")

    async def has_both() -> bool:
        listed = await kubectl(environ, play[1])
        return "secret/registry" in listed and "resourcequota/defaults" in listed

    await until_is(has_both, True, "the Secret and the quota, which come after the hook has told of them")
    assert "configmap/greeting patched" in await kubectl(environ, play[2])
    await shown.says("shop/web is restarted")  # that it will be is said at the start
    child.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(child.wait(), PATIENCE) == 0


async def test_hooks_that_need_more_than_python_are_left_out_and_reported(
    started: tuple[Process, Shown, dict[str, str]],
) -> None:
    _, shown, _ = started
    await shown.says("pod-security.sh.*jq")
    await shown.says("hookrunner .* runs")
