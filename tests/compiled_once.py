"""Compile what the tests import once, before pytest-xdist starts its workers: a checkout has nothing compiled yet.

Each worker collects all test files. With nothing cached it took 17 s of CPU for that, with everything 5 s: it compiled
all modules, had pytest rewrite the assertions of all test files, and hypothesis read the constants of all of them. The
workers began at the same time, so that all of them did.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL

import pytest

PACKAGES = ("hookrunner", "kubesandbox", "kubetypes", "providers", "tests")
REWRITTEN = r"/(test_\w+|conftest)\.py$"
"""Files that pytest compiles in its own way, while it collects them."""
FEW = 40
"""So many changed files are no reason to collect once more."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """In the process that starts the workers, before it does."""
    if sys.dont_write_bytecode or sys.pycache_prefix:
        return
    files = [str(file) for file in files_of(config) if not is_compiled(file)]
    if len(files) > FEW:
        _run_all(config.rootpath, [["compileall", "-q", "-j0", "-x", REWRITTEN, *PACKAGES]])
        collect = ["pytest", "-n0", "-qq", "--collect-only", "-p", "no:cacheprovider"]
        _run_all(config.rootpath, [[*collect, *half] for half in (files[::2], files[1::2])])


def files_of(config: pytest.Config) -> Iterator[Path]:
    """The test files that the command line names, directly or as directories."""
    for argument in config.args:
        path = config.invocation_params.dir / argument.partition("::")[0]
        yield from sorted(path.rglob("test_*.py")) if path.is_dir() else [path]


def is_compiled(file: Path) -> bool:
    """Has this pytest compiled the file as it is now?"""
    name = f"{file.stem}.{sys.implementation.cache_tag}-pytest-{pytest.__version__}.pyc"
    compiled = file.parent / "__pycache__" / name
    return compiled.exists() and compiled.stat().st_mtime >= file.stat().st_mtime


def _run_all(directory: Path, modules: list[list[str]]) -> None:
    """Run modules with their arguments side by side. What is wrong with a file is shown by the tests' own run."""
    environ = {**os.environ, "PYTEST_ADDOPTS": ""}
    children = [
        subprocess.Popen([sys.executable, "-m", *words], cwd=directory, env=environ, stdout=DEVNULL, stderr=DEVNULL)
        for words in modules
    ]
    for child in children:
        child.wait()
