"""Decides which instance of an `exclusive` word is installed, and which one takes its place. Pure.

    standing = standing_of(addon, world)
    standing.first      # has priority
    standing.successor  # is installed beside it, and takes its place when it is Current

The annotation `hookrunner.io/replaces: ADDON/NAME` means one thing: its instance may be installed beside the one that
it names, as long as that has priority, and takes its place. It means nothing while nothing has priority over its
instance; so it can stay when all is over, and a wrong one does no harm. Whoever may create instances in one namespace
has no power over another: the named instance is in the same namespace, if the successor has one.

Two that name each other, also through others, would replace each other for ever: none of them replaces anything.

What was decided has to survive a death of the process, so release records say it, which no user of instances writes.
A record of a successor names the unit that it was installed beside, and counts how often that has happened in a row:
it tells the successor from the first one. The removal of the first one begins when the successor is Current, and its
record says so from then on; the successor may be in any state afterwards.
"""

from collections.abc import Iterator

from hookrunner.addons.gates.gate_world import GateWorld, first_of, may_install, precedence, rank, rivals
from hookrunner.model.addon_status import AddonObstacle, AddonPhase, WakeUp
from hookrunner.model.addons import RECONCILE, REPLACES, Addon, Instance
from hookrunner.model.releases import Predecessor
from kubetypes.light_dataclasses import dataclass

_WAKES = frozenset([WakeUp.INSTANCES])


@dataclass(frozen=True, slots=True)
class Standing:
    """Of the instances of an exclusive word: the `first` has priority, None if there is none. The `successor` is
    installed beside it. `is_decided`: the first one is removed."""

    first: Instance | None = None
    successor: Instance | None = None
    is_decided: bool = False


def standing_of(addon: Addon, world: GateWorld) -> Standing:
    """Who is who among the instances of this addon's exclusive word."""
    group = world.of_addons(rivals(addon, world.addons))
    first = first_of(group, world)
    if first is None:
        return Standing()
    successors = [each for each in group if _succeeds(each, first, world)]
    successor = min(successors, key=lambda each: rank(each, world), default=None)
    is_decided = successor is not None and first.unit in world.installed
    is_current = successor is not None and successor.unit in world.current
    return Standing(first, successor, is_decided and (is_current or _is_leaving(first, world)))


def exclusion(instance: Instance, addon: Addon, world: GateWorld) -> AddonObstacle | None:
    """Why an instance may not be installed, or not any more, because of others of its exclusive word; None if it
    may."""
    if not addon.exclusive:
        return None
    if hidden := sorted(rivals(addon, world.addons) & world.hidden.keys()):
        text = "; ".join(f"the instances of {name}, which cannot be listed: {world.hidden[name]}" for name in hidden)
        return AddonObstacle(AddonPhase.PENDING, "Waiting", f"waiting for {text}", _WAKES)
    standing = standing_of(addon, world)
    return _obstacle(instance, addon, standing, world) or _absent_successor(instance, world)


def predecessor_of(instance: Instance, addon: Addon, world: GateWorld) -> Predecessor | None:
    """The instance whose place this one takes, None if it takes none."""
    standing = standing_of(addon, world) if addon.exclusive else Standing()
    first = standing.first
    if standing.successor is None or first is None or standing.successor.unit != instance.unit:
        return None
    head = world.heads.get(first.unit)
    return Predecessor(first.unit, (head.succession if head else 0) + 1)


def leftovers_of(instance: Instance, world: GateWorld) -> str:
    """What Nodes may still have of the instance whose place this one has taken, for its user, who says by the
    annotation how long that is of interest; empty for nothing."""
    head, named = world.heads.get(instance.unit), named_by(instance)
    replaced = head.predecessor if head else ""
    addon = world.addons.get(replaced.partition(".")[0])
    if addon is None or named is None or named[0] != addon.name or replaced in world.installed:
        return ""
    kind, what = addon.object.kind, str(addon.leaves_on_nodes)
    return what and (
        f"{kind} {named[1]} is removed; what it may have left on Nodes: {what}. Remove that from the Nodes, or restart "
        f"them, then remove the annotation {REPLACES}"
    )


def named_by(instance: Instance) -> tuple[str, str] | None:
    """Addon and name of the instance that the annotation names; None without one, and for a text that is none."""
    addon, slash, name = instance.replaces.strip().partition("/")
    return (addon, name) if slash and addon and name and "/" not in name else None


# ── who takes whose place ─────────────────────────────────────────────────────────────────────────────────────────


def _succeeds(instance: Instance, first: Instance, world: GateWorld) -> bool:
    """Does it take the place of the first one? Also one whose annotation was removed when that one had begun to
    leave."""
    if instance.is_deleting or instance.is_unmanaged or instance.addon == first.addon:
        return False
    if instance.unit not in world.installed and not may_install(instance, world):
        return False
    if _was_beside(instance, first, world) and _is_leaving(first, world):
        return True
    return _names(instance, first) and all(each.unit != instance.unit for each in _chain_of(first, world))


def _names(instance: Instance, other: Instance) -> bool:
    """Does its annotation name the other one?"""
    is_near = instance.namespace in ("", other.namespace)
    return is_near and named_by(instance) == (other.addon, other.name)


def _chain_of(first: Instance, world: GateWorld) -> Iterator[Instance]:
    """The instances that this one replaces by annotations, also through others."""
    seen, named = {first.unit}, [first]
    while named:
        named = [each for each in world.instances if each.unit not in seen and any(_names(by, each) for by in named)]
        seen |= {each.unit for each in named}
        yield from named


def _was_beside(instance: Instance, first: Instance, world: GateWorld) -> bool:
    """Was it installed to take the place of the first one?"""
    head = world.heads.get(instance.unit)
    return head is not None and head.predecessor == first.unit


def _is_leaving(instance: Instance, world: GateWorld) -> bool:
    """Has its removal begun?"""
    head = world.heads.get(instance.unit)
    return head is not None and head.is_leaving


# ── what users read ───────────────────────────────────────────────────────────────────────────────────────────────


def _absent_successor(instance: Instance, world: GateWorld) -> AddonObstacle | None:
    """It was replaced by an instance whose addon is not offered at the moment, and would be installed beside that."""
    if instance.unit in world.installed and not _is_leaving(instance, world):
        return None
    known = {each.unit for each in world.instances}
    absent = [head for head in world.heads.values() if head.predecessor == instance.unit and head.name not in known]
    if not absent:
        return None
    text = f"the release {absent[0].name} has replaced it, and its addon is not offered, or its instance is gone"
    way = f"bring it back, or remove the release and set the annotation {RECONCILE} here, to anything"
    return AddonObstacle(AddonPhase.CONFLICT, "Replaced", f"{text}; {way}", _WAKES)


def _obstacle(instance: Instance, addon: Addon, standing: Standing, world: GateWorld) -> AddonObstacle | None:
    first, successor = standing.first, standing.successor
    if first is None or (successor and successor.unit == instance.unit):
        return None
    if first.addon == instance.addon:  # another one of its own addon is the concern of another gate
        if first.unit != instance.unit or not standing.is_decided:
            return None
        text = f"{world.shown(successor or first)} takes its place and is Current; what it has installed is removed"
        return AddonObstacle(AddonPhase.CONFLICT, "Replaced", text, _WAKES, removes=True)
    text = f"{precedence(first, world)}, and only one '{addon.exclusive}' can be installed"
    if _was_beside(instance, first, world) and not _names(instance, first):
        text += f"; what it has installed is removed, since {REPLACES} does not name that one any more"
        return AddonObstacle(AddonPhase.CONFLICT, "Exclusive", text, _WAKES, removes=True)
    if _was_beside(first, instance, world):
        text = f"{world.shown(first)} has replaced it; to go back, {_advice(instance, first, world)}, or delete one"
        return AddonObstacle(AddonPhase.CONFLICT, "Replaced", text, _WAKES)
    if _names(instance, first) and successor:
        text += f", which {world.shown(successor)} replaces already"
    hint = _advice(instance, first, world)
    return AddonObstacle(AddonPhase.CONFLICT, "Exclusive", f"{text}; delete one, or {hint}", _WAKES)


def _advice(instance: Instance, first: Instance, world: GateWorld) -> str:
    """How an instance comes to take the place of the first one."""
    if by := next((each for each in (first, *_chain_of(first, world)) if _names(each, instance)), None):
        return f"remove the annotation {REPLACES}: {by.replaces} from {world.shown(by)}, which names this one"
    if _names(instance, first):
        return "wait"
    wanted = f"{REPLACES}: {first.addon}/{first.name}"
    if instance.namespace not in ("", first.namespace):
        return f"create it in the namespace {first.namespace} with the annotation {wanted}"
    wrong = f" in place of {instance.replaces}" if instance.replaces else ""
    return f"let this one replace it by the annotation {wanted}{wrong}"
