"""Modules as `module list` shows them where no cluster is asked: what depends on one is empty."""

from collections.abc import Mapping
from dataclasses import asdict

from hookrunner.model.modules import Decision, Module
from hookrunner.model.resources import JSON
from hookrunner.model.status import ModuleDump
from hookrunner.modules.shelf import Shelf


def rows(shelf: Shelf, decisions: Mapping[str, Decision]) -> list[JSON]:
    """All modules in their order, then the directories that can be none."""
    decided = [(one, decisions[one.name]) for one in shelf.modules]
    return [
        *(_row(one, str(decision.choice), decision.by, decision.reason) for one, decision in decided),
        *(_row(one, "rejected", "", f"{one.directory}: {one.problem}") for one in shelf.loaded.found.rejected),
    ]


def _row(module: Module, state: str, by: str, reason: str) -> JSON:
    dump = ModuleDump(
        name=module.name,
        weight=module.weight,
        version=module.traits.version,
        state=state,
        by=by,
        phase="",
        ready=False,
        reason=reason,
        revision=0,
        since=0.0,
        last_success=0.0,
        lacks=module.compiled,
    )
    return asdict(dump)
