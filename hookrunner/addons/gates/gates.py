"""Decides whether an instance may be built and applied, and what it waits for otherwise. Pure.

    obstacle = closed_gate(instance, addon, world)    # None: all gates are open
    verdict = verdict_on(instance, addon, world)  # the same, with whose place it takes

The gates in their order: deletion, suspension, the allowed namespaces, one instance of an addon, one of an exclusive
word, the spec itself, requirements. A closed gate leaves what is installed unchanged. Version and package follow in
`version_resolver.py`, since they need the source.
"""

from collections.abc import Iterable, Iterator, Mapping

from hookrunner import ranges
from hookrunner.addons.gates.gate_world import GateWorld, first_of, is_allowed_namespace, precedence, rivals
from hookrunner.addons.gates.replacement import exclusion, leftovers_of, predecessor_of
from hookrunner.model.addon_status import AddonObstacle, AddonPhase, WakeUp
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.releases import Predecessor
from hookrunner.packages.channels import release_of
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """What gates say of an instance: the first closed one, None if all are open. `predecessor` is the release whose
    place it takes, `leftovers` what Nodes may have of the one whose place it has taken, "" for nothing."""

    obstacle: AddonObstacle | None = None
    predecessor: Predecessor | None = None
    leftovers: str = ""


def verdict_on(instance: Instance, addon: Addon, world: GateWorld) -> GateVerdict:
    """What the gates say of an instance."""
    obstacle = closed_gate(instance, addon, world)
    return GateVerdict(obstacle, predecessor_of(instance, addon, world), leftovers_of(instance, world))


def closed_gate(instance: Instance, addon: Addon, world: GateWorld) -> AddonObstacle | None:
    """The first closed gate; None if all are open."""
    if instance.is_deleting:
        return AddonObstacle(AddonPhase.TERMINATING, "Terminating", "it was deleted; its objects are being removed")
    if instance.fields.suspend:
        return AddonObstacle(AddonPhase.SUSPENDED, "Suspended", "suspended by spec.suspend; nothing is written")
    if not is_allowed_namespace(instance.namespace, world.namespaces):
        return _shut_out(instance, world)
    conflict = _duplicate(instance, addon, world) or exclusion(instance, addon, world)
    return conflict or _invalid(instance) or _without_account(instance, world) or _waiting(instance, addon, world)


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


def _without_account(instance: Instance, world: GateWorld) -> AddonObstacle | None:
    """Whose rights would be used for it, if every instance must name an account?"""
    if not world.account_required or instance.account:
        return None
    way = f"name a ServiceAccount of namespace {instance.namespace}"
    text = way if instance.namespace else "an instance without a namespace can have none, and so is not installed"
    problem = f"spec.serviceAccountName is required (--addon-accounts require): {text}"
    return AddonObstacle(AddonPhase.RENDER_FAILED, "SpecInvalid", problem)


def _duplicate(instance: Instance, addon: Addon, world: GateWorld) -> AddonObstacle | None:
    if addon.instances == "many":
        return None
    first = first_of(world.of_addons([addon.name]), world)
    if first is None or first.unit == instance.unit:
        return None
    text = f"{precedence(first, world)}, and there is only one {addon.object.kind} in a cluster; delete one"
    return AddonObstacle(AddonPhase.CONFLICT, "Duplicate", text, frozenset([WakeUp.INSTANCES]))


# ── requirements ──────────────────────────────────────────────────────────────────────────────────────────────────


def _waiting(instance: Instance, addon: Addon, world: GateWorld) -> AddonObstacle | None:
    """All requirements that do not hold, in one message."""
    missing = list(_missing(addon, world))
    if world.account_problem:
        missing.append((f"{instance.account}: {world.account_problem}", None))
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
