"""docs/modules.md is true: its files are written as it has them, its commands run, and print what it says.

Level: sandbox."""

import asyncio
import os
import re
import shlex
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path
from signal import SIGTERM

import pytest

from tests import launcher
from tests.controlplane.processes import free_port
from tests.controlplane.tools import find_tool
from tests.flows.waiting import PATIENCE, until

pytestmark = pytest.mark.usefixtures("launcher")

SHELL = {"|", "&&", "||", ";", ">", "<"}
"""Words of a line that only a shell understands."""
CHANGES = re.compile(r"kubectl (apply|label|delete|patch)|hookrunner module rollback")
"""Such a command is run once; one that looks may have to look again, after a pause."""
PAUSE = 0.2

PAGE = (Path(__file__).parents[1] / "docs" / "modules.md").read_text()
FILES = re.findall(r"^```\w+ (\S+[./]\S+|modules/\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def commands(mark: str, page: str = PAGE) -> list[tuple[str, str]]:
    """The lines of the blocks `sh <mark>`: what to run, and what is in its output."""
    blocks = re.findall(rf"^```sh {mark}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    found = [re.fullmatch(r"(.*\S) +# → (.+)", line) for block in blocks for line in block.splitlines()]
    assert found, f"no commands are left: {mark}"
    assert all(found), blocks
    return [(match[1], match[2]) for match in found if match]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The page's files."""
    for name, text in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755 if text.startswith("#!") else 0o644)
    return tmp_path


def environ(directory: Path) -> dict[str, str]:
    """Where the programs of the page are found, and places that other tests do not use."""
    (bin_ := directory / "bin").mkdir()
    (bin_ / "hookrunner").write_text(f'#!/bin/sh\nexec {sys.executable} -m hookrunner "$@"\n')
    (bin_ / "hookrunner").chmod(0o755)
    tools = [Path(sys.executable).parent, *(find_tool(name).parent for name in ("kubectl", "helm"))]
    return {
        "PATH": ":".join(map(str, [bin_, *tools, os.environ["PATH"]])),
        "HOME": str(directory),
        "KUBECONFIG": str(directory / "kubeconfig"),
        "HOOKRUNNER_SANDBOX_KUBECONFIG": str(directory / "kubeconfig"),
        "HOOKRUNNER_TMP_DIR": str(directory / "tmp"),
        "HOOKRUNNER_LISTEN_PORT": str(free_port()),
        "HOOKRUNNER_DEBUG_UNIX_SOCKET": str(directory / "socket"),
    }


async def run(line: str, directory: Path, env: dict[str, str]) -> str:
    """What a line of a page prints."""
    return (await call(line, directory, env))[1]


async def call(line: str, directory: Path, env: dict[str, str]) -> tuple[int, str]:
    """The exit code of a line of a page, and what it prints. hookrunner alone on its line is forked, for a fifth of the
    CPU of an execution."""
    words = shlex.split(line, comments=True)
    if words[0] == "hookrunner" and not SHELL & {*words}:
        done = await asyncio.to_thread(launcher.run, words[1:], cwd=directory, env=env)
        return done.returncode, done.stdout + done.stderr
    shell = await asyncio.create_subprocess_exec("bash", "-c", line, cwd=directory, env=env, stdout=PIPE, stderr=STDOUT)
    printed = (await shell.communicate())[0].decode()
    assert shell.returncode is not None
    return shell.returncode, printed


async def test_offline_commands_print_what_the_page_shows(written: Path) -> None:
    env = environ(written)
    printed = await asyncio.gather(*(run(line, written, env) for line, _ in commands("offline")))
    for (line, words), text in zip(commands("offline"), printed, strict=True):
        assert words in text, line


async def test_commands_on_a_cluster_print_what_the_page_shows(written: Path) -> None:
    env = environ(written)
    (line,) = re.findall(r"^    hookrunner (start --sandbox .*?) +#", PAGE, re.MULTILINE)
    with (written / "log").open("wb") as log:
        child = launcher.start(line.split(), cwd=written, env=env, stdout=log.fileno(), stderr=log.fileno())
    try:
        await until((written / "kubeconfig").exists, "the sandbox")
        for line, words in commands("live"):
            await prints(line, words, written, env)
    finally:
        child.send_signal(SIGTERM)
        await asyncio.to_thread(child.wait)


async def prints(line: str, words: str, directory: Path, env: dict[str, str]) -> None:
    """Run a command: once if it changes something, else until its output has these words. A look starts kubectl, which
    takes 0.1 s of the CPU that the program needs to get there."""
    deadline = asyncio.get_running_loop().time() + (0 if CHANGES.match(line) else PATIENCE)
    while words not in (text := await run(line, directory, env)):
        late = asyncio.get_running_loop().time() >= deadline
        assert not late, f"{line}\n{text}\n{(directory / 'log').read_text()[-2000:]}"
        await asyncio.sleep(PAUSE)
