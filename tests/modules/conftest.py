"""Modules directories as dictionaries, and modules as values."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hookrunner.model.modules import Module, Traits, camel

MakeTree = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> MakeTree:
    """Makes files in a directory of modules: paths with their texts. A path that ends in `/` is an empty directory, one
    that ends in `*` an executable file."""

    def make(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name.removesuffix("*")
            (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                path.write_text(text)
                path.chmod(0o755 if name.endswith("*") else 0o644)
        return tmp_path

    return make


def module(
    name: str, weight: int = 1, traits: Traits | None = None, *, script: bool = False, problem: str = ""
) -> Module:
    """A module that is only a value."""
    here = Path("/modules") / name
    return Module(
        name,
        camel(name),
        weight,
        here,
        here.parent,
        True,
        here / "enabled" if script else None,
        traits or Traits(),
        problem,
    )


def requiring(*modules: str, gate: bool = False, version: str = "", kubernetes: str = "") -> Traits:
    """The traits of a module that requires others: `b`, `c >=1.2`."""
    pairs = tuple((name, wanted.strip()) for name, _, wanted in (line.partition(" ") for line in modules))
    return Traits(modules=pairs, gate=gate, version=version, kubernetes=kubernetes)
