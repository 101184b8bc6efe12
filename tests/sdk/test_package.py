"""What the SDK asks of a Python: little of its standard library, and little time. Level: pure."""

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hookrunner
import hookrunner.sdk
from hookrunner import provider
from hookrunner.sdk import lines

STANDARD = "json, re, typing"
"""All of the standard library that takes time to import and that the SDK needs."""
PACKAGE = Path(hookrunner.sdk.__file__).parent
SHIM = Path(hookrunner.__file__).parent / "on_python_path"
FOR_AUTHORS = [*PACKAGE.glob("*.py"), PACKAGE.parent / "provider.py", *SHIM.rglob("*.py")]
SLOW = {"asyncio", "dataclasses", "difflib", "inspect", "pathlib", "subprocess", "tempfile", "traceback"}
"""Each takes as long to import as most of the SDK."""


def imported(file: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(file.read_text())))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("file", FOR_AUTHORS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_only_the_standard_library_is_imported(file: Path) -> None:
    assert imported(file) - sys.stdlib_module_names == set()


def python(*words: str) -> str:
    """What a Python writes that has nothing but the standard library and the SDK."""
    environ = {**os.environ, "PYTHONPATH": str(SHIM)}
    command = [sys.executable, "-S", *words]
    return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stderr


def test_what_few_hooks_need_is_not_imported() -> None:
    code = "import sys; import hookrunner.sdk; print(*sys.modules, file=sys.stderr)"
    assert SLOW & {name.partition(".")[0] for name in python("-c", code).split()} == set()


@pytest.mark.slow
def test_it_is_imported_in_little_more_than_what_it_needs_and_in_less_than_half_of_asyncio() -> None:
    """25 ms are 0.45 of asyncio where that takes 55. The least CPU time of some tries, each beside the others: a busy
    machine is slow in all. Measured were 1.1 to 1.25 and 0.32 to 0.34 (docs/benchmarks.md)."""
    modules = ("hookrunner.sdk", STANDARD, "asyncio")
    tries = [[seconds_to_import(module) for module in modules] for _ in range(9)]
    own, standard, asyncio = (min(seconds) for seconds in zip(*tries, strict=True))
    assert own < 1.5 * standard
    assert own < 0.45 * asyncio


def seconds_to_import(modules: str) -> float:
    """Of the processor, in a Python of its own."""
    report = "print(time.process_time() - began, file=sys.stderr)"
    return float(python("-c", f"import sys, time; began = time.process_time(); import {modules}; {report}"))


def test_what_the_sdk_shares_with_providers_is_one_text() -> None:
    """Each can be copied alone, and so both have it."""
    own, other = (inspect.getsource(module._duplicate_streams) for module in (lines, provider))
    assert own == other
