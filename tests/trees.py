"""Directories of modules and addons as dictionaries."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

MakeTree = Callable[[Mapping[str, str]], Path]


def write_files(directory: Path, files: Mapping[str, str]) -> None:
    """Make files in a directory: paths with their texts. A path that ends in `/` is an empty directory, one that ends
    in `*` an executable file."""
    for name, text in files.items():
        path = directory / name.removesuffix("*")
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_text(text)
            path.chmod(0o755 if name.endswith("*") else 0o644)


@pytest.fixture
def tree(tmp_path: Path) -> MakeTree:
    """Makes files as `write_files`, in the directory of the test, which it returns."""

    def make(files: Mapping[str, str]) -> Path:
        write_files(tmp_path, files)
        return tmp_path

    return make
