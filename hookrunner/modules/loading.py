"""Loads the modules directories: which modules there are, their static values, and what is wrong with any of them."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hookrunner import log
from hookrunner.model.modules import Module
from hookrunner.modules import discovery, order, statics
from hookrunner.modules.discovery import Found
from hookrunner.modules.statics import Statics

_log = log.get("modules.loading")


@dataclass(frozen=True, slots=True)
class Loaded:
    """Modules, each with its problem if it has one, and what the files say about their values."""

    found: Found
    statics: Statics


def load(directories: Iterable[Path], unnumbered: int, strict: bool) -> Loaded:
    """Everything that can be known without a cluster. It reads many small files: call it in a thread.

    Raises StartRefused if a directory or its common values cannot be read.
    """
    places = tuple(Path(os.path.abspath(path)) for path in directories)
    found = discovery.find(places, unnumbered)
    said = statics.read(places, found.modules, strict)
    modules = tuple(_with_problem(module, said.problems.get(module.key, "")) for module in found.modules)
    return Loaded(replace(found, modules=_without_circles(modules)), said)


def _without_circles(modules: Sequence[Module]) -> tuple[Module, ...]:
    """The same modules; those that would wait for themselves have a problem."""
    rounds = order.circles(modules)
    for name, way in rounds.items():
        _log.error("a module cannot be loaded", module=name, error=way)
    return tuple(_with_problem(module, rounds.get(module.name, "")) for module in modules)


def _with_problem(module: Module, problem: str) -> Module:
    return replace(module, problem="; ".join(filter(None, (module.problem, problem)))) if problem else module
