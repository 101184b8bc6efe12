"""What gates look at besides the instance, and which of several instances has priority. Pure.

Of several instances of which one may be installed, one that has installed something has priority, also while it is
suspended, being deleted, or in a namespace that is not allowed (any more): two networks of Pods in one cluster break
both. Without objects such an instance has none, or any user who may create one would keep all others out.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field

from hookrunner.model.addons import Addon, Instance, RequiredObject, reference_of
from hookrunner.model.releases import Head
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
    `installed` are the units of those that have installed something, or may be about to; `heads` are the latest
    revisions of all releases, by unit; `current` are the units that a run of this process has found Current. `addons`
    are the offered addons by name. `ready_addons` have an instance that is Ready. `kinds` are `group/version/Kind`
    as the cluster serves them. `objects` has for each required object why it is not ready, "" if it is. `cyclic` are
    addons that would wait for themselves. `hidden` are addons whose instances cannot be listed, and why.
    `account_required`: each instance must name an account; `account_problem` is why that of this one cannot be used.
    """

    kubernetes: str = ""
    namespaces: Collection[str] = ()
    instances: Sequence[Instance] = ()
    installed: Collection[str] = ()
    heads: Mapping[str, Head] = field(default_factory=dict)
    current: Collection[str] = ()
    addons: Mapping[str, Addon] = field(default_factory=dict)
    ready_addons: Collection[str] = ()
    kinds: Collection[str] = ()
    modules: Mapping[str, RequiredModule] = field(default_factory=dict)
    objects: Mapping[RequiredObject, str] = field(default_factory=dict)
    cyclic: Collection[str] = ()
    hidden: Mapping[str, str] = field(default_factory=dict)
    account_required: bool = False
    account_problem: str = ""

    def of_addons(self, names: Collection[str]) -> list[Instance]:
        """The instances of the addons with these names."""
        return [instance for instance in self.instances if instance.addon in names]

    def shown(self, instance: Instance) -> str:
        """An instance for a person, such as `Flannel kube-system/default`."""
        return str(reference_of(self.addons[instance.addon], instance))


def is_allowed_namespace(namespace: str, allowed: Collection[str]) -> bool:
    """Are instances in this namespace reconciled? Cluster-scoped ones always are."""
    return not (namespace and allowed) or namespace in allowed


def may_install(instance: Instance, world: GateWorld) -> bool:
    """May it install something now, if no other instance has priority?"""
    is_held_up = instance.is_deleting or instance.fields.suspend or instance.is_unmanaged
    return not is_held_up and is_allowed_namespace(instance.namespace, world.namespaces)


def first_of(instances: Iterable[Instance], world: GateWorld) -> Instance | None:
    """The one with priority: of those that have installed something, else of those that may, the first in the order of
    `rank`. One that its user manages has none."""
    counted = (
        each
        for each in instances
        if not each.is_unmanaged and (each.unit in world.installed or may_install(each, world))
    )
    return min(counted, key=lambda each: rank(each, world), default=None)


def rank(instance: Instance, world: GateWorld) -> tuple[bool, bool, int, str, str]:
    """Sorts instances by priority: those that have installed something, and have a release that says so; those that
    were there before others that were installed beside them; the first created; of two of one second that with the
    lower UID."""
    head = world.heads.get(instance.unit)
    succession = head.succession if head else 0
    return (instance.unit not in world.installed, head is None, succession, *instance.age_key)


def precedence(first: Instance, world: GateWorld) -> str:
    """Why this instance has priority."""
    how = "is installed already" if first.unit in world.installed else "is older"
    return f"{world.shown(first)} {how}"


def rivals(addon: Addon, addons: Mapping[str, Addon]) -> frozenset[str]:
    """The addons among whose instances only one is installed, this one included; none if it may have many."""
    exclusive = [name for name, other in addons.items() if addon.exclusive and other.exclusive == addon.exclusive]
    return frozenset([*exclusive, *([addon.name] if exclusive or addon.instances == "one" else [])])
