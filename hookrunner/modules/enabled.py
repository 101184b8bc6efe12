"""Whether a module is on, off or undecided, and who says so (addon-operator.md §5.2, design.md §4.2). Pure.

Extenders are asked in their order. What one of them says overrides those before it; only the `enabled` script can just
turn off what would be on, and is asked last, when what the module requires is there. A module about which not
everything is known that could have a say is undecided: as long as it may have been meant to run, nothing of it is
deleted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hookrunner.hooks.run import Usage
from hookrunner.model.modules import Choice, Decision, Module
from hookrunner.model.values import GLOBAL
from hookrunner.modules import versions
from hookrunner.modules.statics import Flag
from hookrunner.settings.modules import EXTENDERS

STATIC, DYNAMIC, CONFIG, SCRIPT = EXTENDERS
REQUIRES = "Requires"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known at one moment. Flags are by key: those of files, of global hooks, of the ConfigMap. `invalid` has,
    by key, why the values of a module, or with `global` of all, cannot be used. `running` are names of modules that are
    on as things stand; `kubernetes` is the version of the cluster, empty while nobody knows it. `unread` are the
    keys whose flag in the ConfigMap cannot be read."""

    static: Mapping[str, Flag] = field(default_factory=dict)
    dynamic: Mapping[str, bool] = field(default_factory=dict)
    config: Mapping[str, bool] = field(default_factory=dict)
    invalid: Mapping[str, str] = field(default_factory=dict)
    running: frozenset[str] = frozenset()
    kubernetes: str = ""
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Answer:
    """What an `enabled` script said, and why if it told; `usage` is what its run took."""

    wanted: bool
    reason: str = ""
    usage: Usage | None = field(default=None, compare=False)


def flagged(module: Module, chain: Sequence[str], facts: Facts) -> Decision:
    """What flags alone say: the last in the chain that says anything."""
    decision = Decision(Choice.OFF, "", f'nobody has turned it on; to do so, set {module.key}Enabled: "true"')
    for extender in chain:
        decision = _said(extender, module.key, facts) or decision
    return decision


def uncertain(module: Module, flags: Decision, facts: Facts) -> Decision | None:
    """That a module is undecided because of what is wrong with it or its values; None if nothing stands in the way.

    Off is off if it was said outside of the files: a broken module must be possible to turn off. What files and silence
    say counts for nothing if the files cannot be read, or if no global hook can run that might speak. A flag in the
    cluster that cannot be read may mean on.
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
    """The decision that follows from a requirement that is not met; None if all are.

    What is not known yet decides nothing: a module that needs an undecided one is undecided too.
    """
    undecided = None
    for name, wanted in module.traits.modules:
        decision = _unmet_module(name, wanted, decided, known)
        if decision and decision.choice is Choice.OFF:
            return decision
        undecided = undecided or decision
    decision = _unmet_kubernetes(module.traits.kubernetes, kubernetes)
    return decision if decision and decision.choice is Choice.OFF else undecided or decision


def scripted(answer: Answer) -> Decision | None:
    """The decision that a script's answer is, None if it lets the module pass."""
    return None if answer.wanted else Decision(Choice.OFF, SCRIPT, answer.reason or "its enabled script says false")


def _said(extender: str, key: str, facts: Facts) -> Decision | None:
    """What one extender says, None if nothing."""
    flag = facts.static.get(key)
    words = {STATIC: flag and str(flag.file), DYNAMIC: "a global hook", CONFIG: "the configuration in the cluster"}
    wanted = {STATIC: flag and flag.wanted, DYNAMIC: facts.dynamic.get(key), CONFIG: facts.config.get(key)}
    said = wanted.get(extender)
    if said is None:
        return None
    return Decision(
        Choice.ON if said else Choice.OFF, extender, f"{key}Enabled is {str(said).lower()} in {words[extender]}"
    )


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
        met = versions.meets(version, versions.parse(wanted)) if wanted else True
    except ValueError as error:
        return Decision(Choice.OFF, REQUIRES, f"{text}, whose version cannot be read: {error}")
    return None if met else Decision(Choice.OFF, REQUIRES, f"{text}, which is version {version}")


def _unmet_kubernetes(wanted: str, version: str) -> Decision | None:
    text = f"it requires Kubernetes {wanted}"
    try:
        met = versions.meets(version, versions.parse(wanted)) if wanted else True
    except ValueError:
        return Decision(Choice.UNDECIDED, REQUIRES, f"{text}, and the version of the cluster is not known")
    return None if met else Decision(Choice.OFF, REQUIRES, f"{text}, and the cluster is version {version}")
