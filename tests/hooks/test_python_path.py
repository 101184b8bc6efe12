"""Hooks find the SDK whatever Python their first line names: Debian's, one on PATH, that of a module. Level: pure."""

import os
import sys
import venv
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.hooks.catalog import ask
from hookrunner.hooks.discovery import HookFile, find, find_in_module
from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.hooks.python_path import DIRECTORY, with_sdk
from hookrunner.jq.program import Jq
from hookrunner.model.contexts import Context, ContextType
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings

OURS = Path(sys.base_prefix) / "bin/python3"
"""Our Python without our environment, as a hook's `python3` is where hookrunner is a tool of pipx."""
OTHERS = [str(path) for path in (OURS, Path("/usr/bin/python3")) if path.exists()]
HOOK = """#!{python}
import hookrunner, sys
from hookrunner.sdk import Hook

hook = Hook()

@hook.startup()
def count(metrics):
    metrics.set(hookrunner.__path__[0], 1, {{"python": sys.executable}})

hook.run()
"""


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    children = Children(Patience(kill=0.3))
    yield children
    await children.stop(0.0)


def write(path: Path, python: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HOOK.format(python=python))
    path.chmod(0o755)
    os.utime(path, (1e9, 1e9))
    return path


async def run(file: HookFile, settings: HooksSettings, children: Children, jq: Jq) -> tuple[str, str]:
    """Where the hook found the package `hookrunner`, and its Python."""
    catalog = await ask([file], settings, children, jq)
    assert catalog.problems == ()
    startup = Context("onStartup", ContextType.STARTUP)
    ran = await HookProcesses(settings, children).run(catalog.hooks[0], [startup], {})
    (metric,) = ran.answer.metrics
    return metric.name, dict(metric.labels)["python"]


@pytest.mark.slow
@pytest.mark.parametrize("forks", [True, False])
@pytest.mark.parametrize("python", OTHERS)
async def test_a_python_that_the_first_line_names(
    python: str, forks: bool, settings: HooksSettings, hooks_directory: Path, children: Children, jq: Jq
) -> None:
    write(hooks_directory / "a.py", python)
    [file] = find(hooks_directory)
    found, executable = await run(file, replace(settings, python_fork=forks), children, jq)
    assert found == str(DIRECTORY / "hookrunner")
    assert Path(executable).resolve() == Path(python).resolve()


@pytest.mark.slow
async def test_the_python_on_path(settings: HooksSettings, hooks_directory: Path, children: Children, jq: Jq) -> None:
    venv.create(hooks_directory.parent / "tools", symlinks=True)
    bin_directory = hooks_directory.parent / "tools/bin"
    write(hooks_directory / "a.py", "/usr/bin/env python3")
    [file] = find(hooks_directory)
    environ = {"PATH": f"{bin_directory}:/usr/bin:/bin"}
    found, executable = await run(file, replace(settings, environ=environ), children, jq)
    assert (found, executable) == (str(DIRECTORY / "hookrunner"), str(bin_directory / "python3"))


@pytest.mark.slow
async def test_the_venv_of_a_module(settings: HooksSettings, tmp_path: Path, children: Children, jq: Jq) -> None:
    venv.create(tmp_path / "m/hooks/venv", symlinks=True)
    write(tmp_path / "m/hooks/a.py", "/usr/bin/env python3")
    [file] = find_in_module("m", tmp_path / "m")
    found, executable = await run(file, settings, children, jq)
    assert (found, executable) == (str(DIRECTORY / "hookrunner"), str(tmp_path / "m/hooks/venv/bin/python3"))


@pytest.mark.slow
async def test_a_hookrunner_that_is_installed_there_comes_first(
    settings: HooksSettings, hooks_directory: Path, children: Children, jq: Jq
) -> None:
    write(hooks_directory / "a.py", OTHERS[0])
    (own := hooks_directory.parent / "own" / "hookrunner").mkdir(parents=True)
    (own / "__init__.py").touch()
    (own / "sdk").symlink_to(DIRECTORY.parent / "sdk")
    [file] = find(hooks_directory)
    environ = {**settings.environ, "PYTHONPATH": str(own.parent)}
    found, _ = await run(file, replace(settings, environ=environ), children, jq)
    assert found == str(own)


def test_what_the_environment_has_comes_first(tmp_path: Path) -> None:
    file = with_sdk(HookFile("a.py", write(tmp_path / "a.py", sys.executable)), {"PYTHONPATH": "/a:/b"})
    assert file.environ["PYTHONPATH"] == f"/a:/b:{DIRECTORY}"


def test_other_hooks_are_run_as_ever(tmp_path: Path) -> None:
    file = HookFile("a.sh", write(tmp_path / "a.sh", "/bin/sh"))
    assert with_sdk(file, {"PATH": "/bin"}) is file
