"""An instance with its unit: what others see of it, what its last run has found, and what it is made with."""

from collections.abc import Callable

from hookrunner.addons.status_conditions import obstacle_of_run
from hookrunner.background import Background
from hookrunner.instances.instance_hooks import InstanceSubject
from hookrunner.instances.instance_informer import InstanceCache
from hookrunner.instances.instance_planner import InstancePlanner
from hookrunner.kube.client import Client
from hookrunner.model.addon_status import AddonObstacle, AddonPhase, WakeUp
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.unit_state import UnitState
from hookrunner.model.units import INSTANCE, Unit
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LiveUnit:
    """An instance with its unit."""

    addon: Addon
    state: UnitState
    planner: InstancePlanner
    subject: InstanceSubject

    @property
    def unit(self) -> str:
        """The unit's name."""
        return self.state.name

    @property
    def instance(self) -> Instance:
        """The instance as it is now."""
        return self.planner.instance

    @property
    def obstacle(self) -> AddonObstacle | None:
        """Why its last attempt failed, None if it did not."""
        return obstacle_of_run(self.state.failure) if self.state.failure else None

    @property
    def is_idle(self) -> bool:
        """Has its last run found it suspended, without anything installed? Then it keeps no other one out."""
        is_suspended = self.obstacle is not None and self.obstacle.phase is AddonPhase.SUSPENDED
        return is_suspended and self.planner.has_read_head and self.planner.installed is None

    @property
    def is_to_go(self) -> bool:
        """Has its last run found that what it has installed is to be removed, though its object stays?"""
        removes = self.obstacle is not None and self.obstacle.removes
        return removes and self.planner.has_read_head and self.planner.installed is not None

    def waits_for(self, change: WakeUp) -> bool:
        """Has a gate closed that such a change may open, or does its status tell of others?"""
        tells = change is WakeUp.INSTANCES and bool(self.instance.replaces)
        return tells or (self.obstacle is not None and change in self.obstacle.wakes_up)


@dataclass(frozen=True, slots=True)
class Workshop:
    """What the registry makes units with: planners, and tasks for deletions. `on_end` takes the names of units that
    end."""

    make_planner: Callable[[InstanceCache, Instance], InstancePlanner]
    client: Client
    background: Background
    on_end: Callable[[str], None]


def unit_of(addon: Addon, instance: Instance) -> Unit:
    """An instance as convergence reconciles it: with the files of its addon, and values of its own."""
    return Unit(
        instance.unit,
        addon.key,
        instance.unit,
        addon.directory,
        INSTANCE,
        drift=addon.drift,
        hooks_of=addon.name,
        stamp=addon.stamp,
        labels=instance.labels,
    )
