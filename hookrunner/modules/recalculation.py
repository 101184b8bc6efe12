"""Decides about every module anew: flags, requirements and `enabled` scripts, in module order (addon-operator.md §5.2).

A script that fails leaves its own module undecided and stops nobody else. Scripts run one after another, because each
is told which modules before it are on, and that must not depend on who is quicker.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Protocol

from hookrunner import log
from hookrunner.errors import ScriptFailed
from hookrunner.model.modules import Choice, Decision, Module
from hookrunner.modules.enabled import SCRIPT, Answer, Facts, flagged, scripted, uncertain, unmet
from hookrunner.modules.order import sequence
from hookrunner.modules.scripts import Documents

_log = log.get("modules.recalculation")


class Asks(Protocol):
    """Runs a module's script: `Scripts`."""

    async def ask(self, module: Module, documents: Documents, enabled: Sequence[str]) -> Answer: ...


class Recalculation:
    """One pass over all modules. `chain` are the extenders that are asked, in their order; `documents` has the values
    of every module with a script, by key."""

    def __init__(self, chain: Sequence[str], facts: Facts, documents: Mapping[str, Documents], scripts: Asks) -> None:
        self._chain = chain
        self._facts = facts
        self._documents = documents
        self._scripts = scripts

    async def decisions(self, modules: Sequence[Module]) -> dict[str, Decision]:
        """A decision about each module, by name, in module order."""
        known = {module.name: module for module in modules}
        decided: dict[str, Decision] = {}
        for module in sequence(modules):
            decided[module.name] = await self._decision(module, decided, known)
        return decided

    async def again(self, module: Module, modules: Sequence[Module], last: Mapping[str, Decision]) -> Decision:
        """A decision about this module alone. `last` are the decisions about all of `modules`, by name."""
        before = takewhile(lambda other: other.name != module.name, sequence(modules))
        decided = {other.name: last[other.name] for other in before}
        return await self._decision(module, decided, {other.name: other for other in modules})

    async def _decision(self, module: Module, decided: Mapping[str, Decision], known: Mapping[str, Module]) -> Decision:
        flags = flagged(module, self._chain, self._facts)
        decision = uncertain(module, flags, self._facts)
        if not decision and flags.choice is Choice.ON:
            decision = unmet(module, decided, known, self._facts.kubernetes) or await self._script(module, decided)
        return decision or flags

    async def _script(self, module: Module, decided: Mapping[str, Decision]) -> Decision | None:
        """The script's objection, None if it has none or is not asked."""
        if SCRIPT not in self._chain or not module.script:
            return None
        try:
            return scripted(await self._scripts.ask(module, self._documents[module.key], self._on(decided)))
        except ScriptFailed as error:
            _log.error("an enabled script failed; its module stays as it is", module=module.name, error=error)
            return Decision(Choice.UNDECIDED, SCRIPT, str(error))

    def _on(self, decided: Mapping[str, Decision]) -> list[str]:
        """Who is on so far: also those that stay on because they are undecided."""
        running = self._facts.running
        return [
            name
            for name, decision in decided.items()
            if decision.choice is Choice.ON or (decision.choice is Choice.UNDECIDED and name in running)
        ]
