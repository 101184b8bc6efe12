"""Modules directories as dictionaries, and modules as values."""

from pathlib import Path

from hookrunner.model.modules import Module, Traits, camel
from tests.trees import MakeTree, tree

__all__ = ["MakeTree", "tree"]


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
