"""Decides whether an instance may be built and applied, and what it waits for otherwise. Pure.

    obstacle = closed_gate(instance, addon, world)    # None: all gates are open

The gates in their order: deletion, suspension, the allowed namespaces, one instance of an addon, one of an exclusive
word, the spec itself, requirements. A closed gate leaves what is installed unchanged. Version and package follow in
`version_resolver.py`, since they need the source.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hookrunner import ranges
from hookrunner.model.addon_status import AddonObstacle, AddonPhase, WakeUp
from hookrunner.model.addons import Addon, Instance, RequiredObject
from hookrunner.packages.channels import release_of


@dataclass(frozen=True, slots=True)
class RequiredModule:
    """A module as a requirement sees it."""

    ready: bool
    version: str = ""


@dataclass(frozen=True, slots=True)
class GateWorld:
    """What the gates look at besides the instance.

    `namespaces` are those in which instances are reconciled, all if empty. `instances` are all of the offered addons;
    `addons` are these addons by name. `ready_addons` have an instance that is Ready. `kinds` are `group/version/Kind`
    as the cluster serves them. `objects` has for each required object why it is not ready, "" if it is. `cyclic` are
    addons that would wait for themselves. `hidden` are addons whose instances cannot be listed, and why.
    """

    kubernetes: str = ""
    namespaces: Collection[str] = ()
    instances: Sequence[Instance] = ()
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
        names = ", ".join(sorted(world.namespaces))
        text = f"instances are reconciled in {names} only (--addon-namespaces), not in {instance.namespace}"
        return AddonObstacle(AddonPhase.CONFLICT, "Namespace", text)
    conflict = _duplicate(instance, addon, world) or _excluded(instance, addon, world)
    return conflict or _invalid(instance) or _waiting(addon, world)


def is_allowed_namespace(namespace: str, allowed: Collection[str]) -> bool:
    """Are instances in this namespace reconciled? Cluster-scoped ones always are."""
    return not (namespace and allowed) or namespace in allowed


def oldest(instances: Iterable[Instance]) -> Instance | None:
    """The one with priority: the first created, of two of one second that with the lower UID."""
    return min(instances, key=lambda instance: instance.age_key, default=None)


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
    first = oldest(_candidates(world, [addon.name]))
    if first is None or first.unit == instance.unit:
        return None
    text = f"{_shown(first, addon)} is older, and there is only one {addon.object.kind} in a cluster; delete one"
    return AddonObstacle(AddonPhase.CONFLICT, "Duplicate", text, frozenset([WakeUp.INSTANCES]))


def _excluded(instance: Instance, addon: Addon, world: GateWorld) -> AddonObstacle | None:
    if not addon.exclusive:
        return None
    others = rivals(addon, world.addons)
    if hidden := sorted(others & world.hidden.keys()):
        text = "; ".join(f"the instances of {name}, which cannot be listed: {world.hidden[name]}" for name in hidden)
        return AddonObstacle(AddonPhase.PENDING, "Waiting", f"waiting for {text}", frozenset([WakeUp.INSTANCES]))
    first = oldest(_candidates(world, others))
    if first is None or first.addon == instance.addon:
        return None
    text = f"{_shown(first, world.addons[first.addon])} is older, and only one '{addon.exclusive}' can be installed"
    return AddonObstacle(AddonPhase.CONFLICT, "Exclusive", f"{text}; delete one", frozenset([WakeUp.INSTANCES]))


def _candidates(world: GateWorld, addons: Collection[str]) -> Iterator[Instance]:
    """Those that may have priority. One that is being deleted counts until it is gone: its objects still exist."""
    for instance in world.instances:
        allowed = is_allowed_namespace(instance.namespace, world.namespaces)
        if instance.addon in addons and allowed and not instance.is_unmanaged:
            yield instance


def _shown(instance: Instance, addon: Addon) -> str:
    place = f"{instance.namespace}/" if instance.namespace else ""
    return f"{addon.object.kind} {place}{instance.name}"


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
    if requires.kubernetes and not _meets(release_of(world.kubernetes), requires.kubernetes):
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
    if wanted and not _meets(state.version, wanted):
        return f" {wanted}, there is {state.version or 'one without a version'}"
    return "" if state.ready else ", which is not ready"


def _addon_problem(addon: Addon, name: str, world: GateWorld) -> str:
    if addon.name in world.cyclic and name in world.cyclic:
        return ", which waits for this one; correct requires.addons"
    if name not in world.addons:
        return ", which is not offered"
    if name in world.hidden:
        return f", whose instances cannot be listed: {world.hidden[name]}"
    return "" if name in world.ready_addons else ", of which no instance is ready"


def _meets(version: str, wanted: str) -> bool:
    """False for what is no version."""
    try:
        return ranges.meets(version, ranges.parse(wanted))
    except ValueError:
        return False


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
