"""Whether a module is on, off or undecided, and what has decided that (see docs/modules.md). Pure but for the scripts.

Extenders are asked in their order. What one of them says overrides those before it. The `enabled` script can only turn
off what would be on, and is asked last, when what the module requires is met. A module is undecided as long as
something is unknown that could have a say: it may have been meant to run, so nothing of it is deleted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import takewhile
from typing import Protocol

from hookrunner import log, ranges
from hookrunner.errors import ScriptFailed
from hookrunner.model.modules import GLOBAL, Choice, Decision, Module
from hookrunner.model.operations import Usage
from hookrunner.modules.order import sequence
from hookrunner.modules.shelf import StaticFlag
from hookrunner.settings.modules import EXTENDERS
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

STATIC, DYNAMIC, CONFIG, SCRIPT = EXTENDERS
REQUIRES = "Requires"

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known at one moment. Flags are by key: those of files, of global hooks, of the ConfigMap. `invalid` has,
    by key, why the values of a module, or with `global` of all, cannot be used. `running` are the names of modules that
    are installed now; `kubernetes` is the version of the cluster, empty while it is unknown. `unread` are the keys
    whose flag in the ConfigMap cannot be read."""

    static: Mapping[str, StaticFlag] = field(default_factory=dict)
    dynamic: Mapping[str, bool] = field(default_factory=dict)
    config: Mapping[str, bool] = field(default_factory=dict)
    invalid: Mapping[str, str] = field(default_factory=dict)
    running: frozenset[str] = frozenset()
    kubernetes: str = ""
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ScriptValues:
    """The values that a module's hooks see: what the user configured, and what came of it."""

    config: JSON
    values: JSON


@dataclass(frozen=True, slots=True)
class ScriptAnswer:
    """What an `enabled` script says, and why if it gives a reason; `usage` is what its run took."""

    wanted: bool
    reason: str = ""
    usage: Usage | None = field(default=None, compare=False)


def flagged(module: Module, chain: Sequence[str], facts: Facts) -> Decision:
    """What flags alone say: the last in the chain that says anything counts."""
    decision = Decision(Choice.OFF, "", f'nothing has turned it on; to do so, set {module.key}Enabled: "true"')
    for extender in chain:
        decision = _flag(extender, module.key, facts) or decision
    return decision


def uncertain(module: Module, flags: Decision, facts: Facts) -> Decision | None:
    """That a module is undecided because of what is wrong with it or its values; None if nothing is.

    A flag outside of the files turns it off in any case: a user must be able to turn a broken module off. What files
    say, or leave out, does not count if they cannot be read, or if no global hook can run that might turn the module
    on. A flag in the cluster that cannot be read may mean on.
    """
    if module.key in facts.unread:
        return Decision(Choice.UNDECIDED, "", facts.invalid.get(module.key, "its flag cannot be read"))
    unread = module.problem or facts.invalid.get(GLOBAL, "")
    problem = unread or facts.invalid.get(module.key, "")
    off = flags.choice is Choice.OFF
    if not problem or (off and (flags.by in (DYNAMIC, CONFIG) or not unread)):
        return None
    return Decision(Choice.UNDECIDED, "", problem)


def unmet(
    module: Module, decided: Mapping[str, Decision], known: Mapping[str, Module], kubernetes: str
) -> Decision | None:
    """The decision that follows from a requirement that is not met; None if all are. A module that requires an
    undecided one is undecided too."""
    undecided = None
    for name, wanted in module.traits.modules:
        decision = _unmet_module(name, wanted, decided, known)
        if decision and decision.choice is Choice.OFF:
            return decision
        undecided = undecided or decision
    decision = _unmet_kubernetes(module.traits.kubernetes, kubernetes)
    return decision if decision and decision.choice is Choice.OFF else undecided or decision


def scripted(answer: ScriptAnswer) -> Decision | None:
    """The decision that follows from a script's answer, None if it lets the module run."""
    return None if answer.wanted else Decision(Choice.OFF, SCRIPT, answer.reason or "its enabled script says false")


def contradicts(flags: Decision, decision: Decision) -> bool:
    """Would flags alone decide otherwise? Only scripts and requirements turn off what flags turn on."""
    if decision.by in (SCRIPT, REQUIRES):
        return flags.choice is not Choice.ON
    return decision.choice is not Choice.UNDECIDED and flags.choice is not decision.choice


class Asks(Protocol):
    """Runs a module's script: `Scripts`."""

    async def ask(self, module: Module, documents: ScriptValues, enabled: Sequence[str]) -> ScriptAnswer: ...


class Recalculation:
    """One pass over all modules: flags, requirements and scripts, in module order. `chain` are the extenders that are
    asked, in their order; `documents` has the values of every module with a script, by key.

    A script that fails leaves its own module undecided and holds up no other. Scripts run one after another, because
    each sees which modules before it are on, and that must not depend on which is quicker.
    """

    def __init__(
        self, chain: Sequence[str], facts: Facts, documents: Mapping[str, ScriptValues], scripts: Asks
    ) -> None:
        self._chain = chain
        self._facts = facts
        self._documents = documents
        self._scripts = scripts

    async def decisions(self, modules: Sequence[Module]) -> dict[str, Decision]:
        """A decision about each module, by name, in module order."""
        known = {module.name: module for module in modules}
        decided: dict[str, Decision] = {}
        for module in sequence(modules):
            decided[module.name] = await self._decide(module, decided, known)
        return decided

    async def again(self, module: Module, modules: Sequence[Module], last: Mapping[str, Decision]) -> Decision:
        """A decision about this module alone. `last` are the decisions about all of `modules`, by name."""
        before = takewhile(lambda other: other.name != module.name, sequence(modules))
        decided = {other.name: last[other.name] for other in before}
        return await self._decide(module, decided, {other.name: other for other in modules})

    async def _decide(self, module: Module, decided: Mapping[str, Decision], known: Mapping[str, Module]) -> Decision:
        flags = flagged(module, self._chain, self._facts)
        decision = uncertain(module, flags, self._facts)
        if not decision and flags.choice is Choice.ON:
            decision = unmet(module, decided, known, self._facts.kubernetes) or await self._ask(module, decided)
        return decision or flags

    async def _ask(self, module: Module, decided: Mapping[str, Decision]) -> Decision | None:
        """The script's objection, None if it has none or is not asked."""
        if SCRIPT not in self._chain or not module.script:
            return None
        try:
            return scripted(await self._scripts.ask(module, self._documents[module.key], self._on(decided)))
        except ScriptFailed as error:
            _log.error("enabled script failed, its module stays as it is", module=module.name, error=error)
            return Decision(Choice.UNDECIDED, SCRIPT, str(error))

    def _on(self, decided: Mapping[str, Decision]) -> list[str]:
        """The modules that are on so far, with those that stay on because they are undecided."""
        running = self._facts.running
        return [
            name
            for name, decision in decided.items()
            if decision.choice is Choice.ON or (decision.choice is Choice.UNDECIDED and name in running)
        ]


def _flag(extender: str, key: str, facts: Facts) -> Decision | None:
    """What one extender says, None if nothing."""
    flag = facts.static.get(key)
    words = {STATIC: flag and str(flag.file), DYNAMIC: "a global hook", CONFIG: "the configuration in the cluster"}
    wanted = {STATIC: flag and flag.wanted, DYNAMIC: facts.dynamic.get(key), CONFIG: facts.config.get(key)}
    flag_value = wanted.get(extender)
    if flag_value is None:
        return None
    reason = f"{key}Enabled is {str(flag_value).lower()} in {words[extender]}"
    return Decision(Choice.ON if flag_value else Choice.OFF, extender, reason)


def _unmet_module(
    name: str, wanted: str, decided: Mapping[str, Decision], known: Mapping[str, Module]
) -> Decision | None:
    text = f"it requires the module {name}{wanted and ' '}{wanted}"
    if name not in known:
        return Decision(Choice.OFF, REQUIRES, f"{text}, which is not there")
    decision = decided.get(name, Decision(Choice.UNDECIDED))
    if decision.choice is not Choice.ON:
        return Decision(decision.choice, REQUIRES, f"{text}, which is {decision.choice}: {decision.reason}")
    version = known[name].traits.version
    try:
        met = ranges.meets(version, ranges.parse(wanted)) if wanted else True
    except ValueError as error:
        return Decision(Choice.OFF, REQUIRES, f"{text}, whose version cannot be read: {error}")
    return None if met else Decision(Choice.OFF, REQUIRES, f"{text}, which is version {version}")


def _unmet_kubernetes(wanted: str, version: str) -> Decision | None:
    text = f"it requires Kubernetes {wanted}"
    try:
        met = ranges.meets(version, ranges.parse(wanted)) if wanted else True
    except ValueError:
        return Decision(Choice.UNDECIDED, REQUIRES, f"{text}, and the version of the cluster is not known")
    return None if met else Decision(Choice.OFF, REQUIRES, f"{text}, and the cluster is version {version}")
