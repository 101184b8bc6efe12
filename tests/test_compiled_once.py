"""Test files are compiled once before workers start, and only then: `tests/compiled_once.py`. Level: pure."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import compiled_once


def config_for(directory: Path, *arguments: str) -> Any:
    """What pytest says about a run in this directory."""
    return SimpleNamespace(args=arguments, rootpath=directory, invocation_params=SimpleNamespace(dir=directory))


def write_tests(directory: Path, count: int) -> list[Path]:
    """So many files of tests."""
    files = [directory / f"test_{number}.py" for number in range(count)]
    for file in files:
        file.write_text("def test() -> None:\n    assert True\n")
    return files


def test_a_file_is_compiled_while_what_pytest_made_of_it_is_as_new(tmp_path: Path) -> None:
    (file,) = write_tests(tmp_path, 1)
    assert not compiled_once.is_compiled(file)
    made = tmp_path / "__pycache__" / f"test_0.{sys.implementation.cache_tag}-pytest-{pytest.__version__}.pyc"
    made.parent.mkdir()
    made.touch()
    assert compiled_once.is_compiled(file)
    os.utime(made, (1, 1))
    assert not compiled_once.is_compiled(file)


def test_files_are_those_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    files = [*write_tests(tmp_path / "cli", 2), *write_tests(tmp_path, 1)]
    assert list(compiled_once.files_of(config_for(tmp_path, "cli", "test_0.py::test"))) == files


def test_a_few_changed_files_are_left_to_the_workers(tmp_path: Path) -> None:
    write_tests(tmp_path, compiled_once.FEW)
    compiled_once.pytest_xdist_setupnodes(config_for(tmp_path, "."))
    assert not (tmp_path / "__pycache__").exists()


@pytest.mark.nightly
def test_many_files_are_compiled_as_by_a_worker(tmp_path: Path) -> None:
    files = write_tests(tmp_path, compiled_once.FEW + 1)
    compiled_once.pytest_xdist_setupnodes(config_for(tmp_path, "."))
    assert [file for file in files if not compiled_once.is_compiled(file)] == []
