"""Decides whether an instance may be built and applied, and what it waits for otherwise. Pure.

    obstacle = closed_gate(instance, addon, world)    # None: all gates are open

The gates in their order: deletion, suspension, the allowed namespaces, one instance of an addon, one of an exclusive
word, the spec itself, requirements. A closed gate leaves what is installed unchanged. Version and package follow in
`version_resolver.py`, since they need the source.

Of several instances of which one may be installed, one that has installed something has priority, also while it is
suspended, being deleted, or in a namespace that is not allowed (any more): two networks of Pods in one cluster break
both. Without objects such an instance has none, or any user who may create one would keep all others out.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from hookrunner import ranges
from hookrunner.model.addon_status import AddonObstacle, AddonPhase, WakeUp
from hookrunner.model.addons import Addon, Instance, RequiredObject
from hookrunner.packages.channels import release_of
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequiredModule:
    """A module as a requirement sees it."""

    ready: bool
    version: str = ""


@dataclass(frozen=True, slots=True)
class GateWorld:
    """What the gates look at besides the instance.

    `namespaces` are those in which instances are reconciled, all if empty. `instances` are all of the offered addons;
    `installed` are the units of those that have installed something, or may be about to; `addons` are these addons by
    name. `ready_addons` have an instance that is Ready. `kinds` are `group/version/Kind`
    as the cluster serves them. `objects` has for each required object why it is not ready, "" if it is. `cyclic` are
    addons that would wait for themselves. `hidden` are addons whose instances cannot be listed, and why.
    """

    kubernetes: str = ""
    namespaces: Collection[str] = ()
    instances: Sequence[Instance] = ()
    installed: Collection[str] = ()
    addons: Mapping[str, Addon] = field(default_factory=dict)
    ready_addons: Collection[str] = ()
    kinds: Collection[str] = ()
    modules: Mapping[str, RequiredModule] = field(default_factory=dict)
    objects: Mapping[RequiredObject, str] = field(default_factory=dict)
    cyclic: Collection[str] = ()
    hidden: Mapping[str, str] = field(default_factory=dict)


def closed_gate(instance: Instance, addon: Addon, world: GateWorld) -> AddonObstacle | None:
    """The first closed gate; None if all are open."""
    if instance.is_deleting:
        return AddonObstacle(AddonPhase.TERMINATING, "Terminating", "it was deleted; its objects are being removed")
    if instance.fields.suspend:
        return AddonObstacle(AddonPhase.SUSPENDED, "Suspended", "suspended by spec.suspend; nothing is written")
    if not is_allowed_namespace(instance.namespace, world.namespaces):
        return _shut_out(instance, world)
    conflict = _duplicate(instance, addon, world) or _excluded(instance, addon, world)
    return conflict or _invalid(instance) or _waiting(addon, world)


def is_allowed_namespace(namespace: str, allowed: Collection[str]) -> bool:
    """Are instances in this namespace reconciled? Cluster-scoped ones always are."""
    return not (namespace and allowed) or namespace in allowed


def first_of(instances: Iterable[Instance], world: GateWorld) -> Instance | None:
    """The one with priority: of those that have installed something, else of those that may, the first created; of two
    of one second that with the lower UID."""

    def rank(instance: Instance) -> tuple[bool, str, str]:
        return (instance.unit not in world.installed, *instance.age_key)

    return min((each for each in instances if _counts(each, world)), key=rank, default=None)


def rivals(addon: Addon, addons: Mapping[str, Addon]) -> frozenset[str]:
    """The addons among whose instances only one is installed, this one included; none if it may have many."""
    exclusive = [name for name, other in addons.items() if addon.exclusive and other.exclusive == addon.exclusive]
    return frozenset([*exclusive, *([addon.name] if exclusive or addon.instances == "one" else [])])


def looks_at(addon: Addon, addons: Mapping[str, Addon]) -> frozenset[str]:
    """The offered addons whose instances must be known before this addon's gates can tell anything."""
    return rivals(addon, addons) | (addons.keys() & {*addon.requires.addons})


def addons_requiring(name: str, addons: Iterable[Addon]) -> frozenset[str]:
    """The addons that wait for an instance of the addon of this name."""
    return frozenset(addon.name for addon in addons if name in addon.requires.addons)


def cyclic_addons(addons: Mapping[str, Addon]) -> frozenset[str]:
    """Addons that require themselves, also through others."""
    return frozenset(name for name in addons if name in _required_by(name, addons))


def _shut_out(instance: Instance, world: GateWorld) -> AddonObstacle:
    """It is in a namespace that is not allowed. What it has installed before stays, and is looked after no more."""
    names = ", ".join(sorted(world.namespaces))
    text = f"instances are reconciled in {names} only (--addon-namespaces), not in {instance.namespace}"
    if instance.unit in world.installed:
        text += f"; what it has installed stays as it is: allow {instance.namespace}, or delete the instance"
    return AddonObstacle(AddonPhase.CONFLICT, "Namespace", text)


def _invalid(instance: Instance) -> AddonObstacle | None:
    """Fields that a definition with our schema would have refused."""
    if not instance.problems:
        return None
    text = "; ".join(instance.problems)
    if all(problem.startswith("spec.patches") for problem in instance.problems):
        return AddonObstacle(AddonPhase.PATCH_FAILED, "MergeFailed", text)
    return AddonObstacle(AddonPhase.RENDER_FAILED, "SpecInvalid", text)


# ── priority among instances ──────────────────────────────────────────────────────────────────────────────────────


def _duplicate(instance: Instance, addon: Addon, world: GateWorld) -> AddonObstacle | None:
    if addon.instances == "many":
        return None
    first = first_of(_instances(world, [addon.name]), world)
    if first is None or first.unit == instance.unit:
        return None
    text = f"{_precedence(first, world)}, and there is only one {addon.object.kind} in a cluster; delete one"
    return AddonObstacle(AddonPhase.CONFLICT, "Duplicate", text, frozenset([WakeUp.INSTANCES]))


def _excluded(instance: Instance, addon: Addon, world: GateWorld) -> AddonObstacle | None:
    if not addon.exclusive:
        return None
    others = rivals(addon, world.addons)
    if hidden := sorted(others & world.hidden.keys()):
        text = "; ".join(f"the instances of {name}, which cannot be listed: {world.hidden[name]}" for name in hidden)
        return AddonObstacle(AddonPhase.PENDING, "Waiting", f"waiting for {text}", frozenset([WakeUp.INSTANCES]))
    first = first_of(_instances(world, others), world)
    if first is None or first.addon == instance.addon:
        return None
    text = f"{_precedence(first, world)}, and only one '{addon.exclusive}' can be installed"
    return AddonObstacle(AddonPhase.CONFLICT, "Exclusive", f"{text}; delete one", frozenset([WakeUp.INSTANCES]))


def _instances(world: GateWorld, addons: Collection[str]) -> Iterator[Instance]:
    return (instance for instance in world.instances if instance.addon in addons)


def _counts(instance: Instance, world: GateWorld) -> bool:
    """Can it have priority? Without objects not if it could not install any now. One that its user manages has none."""
    if instance.is_unmanaged:
        return False
    is_held_up = instance.is_deleting or instance.fields.suspend
    may_install = not is_held_up and is_allowed_namespace(instance.namespace, world.namespaces)
    return may_install or instance.unit in world.installed


def _precedence(first: Instance, world: GateWorld) -> str:
    """Why this instance has priority."""
    place = f"{first.namespace}/" if first.namespace else ""
    name = f"{world.addons[first.addon].object.kind} {place}{first.name}"
    return f"{name} is installed already" if first.unit in world.installed else f"{name} is older"


# ── requirements ──────────────────────────────────────────────────────────────────────────────────────────────────


def _waiting(addon: Addon, world: GateWorld) -> AddonObstacle | None:
    """All requirements that do not hold, in one message."""
    missing = list(_missing(addon, world))
    if not missing:
        return None
    text = "waiting for " + "; ".join(what for what, _ in missing)
    return AddonObstacle(AddonPhase.PENDING, "Waiting", text, frozenset(change for _, change in missing if change))


def _missing(addon: Addon, world: GateWorld) -> Iterator[tuple[str, WakeUp | None]]:
    """What is missing, each with the change that may bring it; None for what the cluster serves."""
    requires = addon.requires
    if requires.kubernetes and not ranges.is_in(release_of(world.kubernetes), requires.kubernetes):
        yield f"Kubernetes {requires.kubernetes}, the cluster has {world.kubernetes}", None
    for kind in requires.kinds:
        if kind not in world.kinds:
            yield f"the kind {kind}, which the cluster does not serve", None
    for name, wanted in requires.modules:
        if reason := _module_problem(name, wanted, world):
            yield f"module {name}{reason}", WakeUp.MODULES
    for name in requires.addons:
        if reason := _addon_problem(addon, name, world):
            yield f"addon {name}{reason}", WakeUp.ADDONS
    for required in requires.objects:
        if reason := world.objects.get(required, "it has not been looked for yet"):
            yield f"{required}: {reason}", WakeUp.OBJECTS


def _module_problem(name: str, wanted: str, world: GateWorld) -> str:
    state = world.modules.get(name)
    if state is None:
        return ", which is off or does not exist"
    if wanted and not ranges.is_in(state.version, wanted):
        return f" {wanted}, there is {state.version or 'one without a version'}"
    return "" if state.ready else ", which is not ready"


def _addon_problem(addon: Addon, name: str, world: GateWorld) -> str:
    if addon.name in world.cyclic and (name == addon.name or addon.name in _required_by(name, world.addons)):
        return ", which waits for this one; correct requires.addons"
    if name not in world.addons:
        return ", which is not offered"
    if name in world.hidden:
        return f", whose instances cannot be listed: {world.hidden[name]}"
    return "" if name in world.ready_addons else ", of which no instance is ready"


def _required_by(name: str, addons: Mapping[str, Addon]) -> frozenset[str]:
    """What an addon requires, also through others."""
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        addon = addons.get(waiting.pop())
        new = set(addon.requires.addons) - reached if addon else set()
        reached |= new
        waiting += new
    return frozenset(reached)
