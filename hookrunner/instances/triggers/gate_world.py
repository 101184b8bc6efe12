"""What the gates of an instance look at, gathered at one moment: other instances, modules, the cluster.

    gates = InstanceGates(caches, states, …)
    verdict = await gates.admit(instance, addon, capabilities)
    gates.forget(unit)                                      # its unit has ended

Only what an addon's gates look at is gathered, since each run begins with this. An object that is required counts as
ready by the same rules as an instance's own objects.

Release records say which instances have installed something: their authors can write neither those nor the time of
creation, but may be able to write a status. A record is written some time after the gates: until then what counts is
that a run has passed them. Otherwise an instance that is suspended meanwhile would let a second one in.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime

from hookrunner.addons.gates.gate_world import GateWorld, RequiredModule, rivals
from hookrunner.addons.gates.gates import GateVerdict, cyclic_addons, looks_at, verdict_on
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.errors import KubeError, NotFound, UnknownKind
from hookrunner.instances.instance_informer import InstanceCache
from hookrunner.instances.reports.reported_instances import ReportedInstances
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.addon_status import AddonObstacle, AddonPhase
from hookrunner.model.addons import AccountRule, Addon, Instance, RequiredObject
from hookrunner.model.releases import Capabilities, Head
from hookrunner.model.unit_state import ModuleState
from hookrunner.releases.health.object_health import health_of
from hookrunner.releases.manifest_objects import KindResolver
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

MISSING = "it does not exist"


@dataclass(frozen=True, slots=True)
class InstanceGates:
    """The gates of all instances, and where they look. `caches` are the instances of each offered addon, by its name,
    and `reported` their states; `read_releases` reads the latest revision of each release, by unit; `namespaces` are
    those in which instances are reconciled, all if empty; `accounts` says whether each must name an account."""

    caches: Mapping[str, InstanceCache]
    states: UnitStates
    reported: ReportedInstances
    kinds: KindResolver
    client: Client
    read_releases: Callable[[], Awaitable[Mapping[str, Head]]]
    namespaces: tuple[str, ...]
    accounts: AccountRule = "allow"
    _passed: set[str] = field(default_factory=set)

    async def admit(self, instance: Instance, addon: Addon, capabilities: Capabilities) -> GateVerdict:
        """What the gates say of an instance whose run begins. Raises KubeError."""
        if addon.name not in self.caches:  # it has left the offer since the run was requested
            text = f"waiting for the addon {addon.name}, which has left"
            return GateVerdict(AddonObstacle(AddonPhase.PENDING, "Waiting", text))
        world = await look_around(self, addon, capabilities)
        if account := instance.account:
            wanted = RequiredObject("v1", "ServiceAccount", account.namespace, account.name)
            world = replace(world, account_problem=await _problem_of(self, wanted))
        verdict = verdict_on(instance, addon, replace(world, installed=self._passed.union(world.installed)))
        (self._passed.discard if verdict.obstacle else self._passed.add)(instance.unit)
        return verdict

    def forget(self, unit: str) -> None:
        """The unit has ended: nothing of it is under way."""
        self._passed.discard(unit)


async def look_around(gates: InstanceGates, addon: Addon, served: Capabilities) -> GateWorld:
    """What holds now, as far as this addon's gates look at it, in a cluster that serves this. Raises KubeError."""
    addons = {name: cache.addon for name, cache in gates.caches.items()}
    seen = {name: gates.caches[name] for name in looks_at(addon, addons)}
    required = addon.requires.objects
    problems = await asyncio.gather(*(_problem_of(gates, wanted) for wanted in required))
    heads = await gates.read_releases() if rivals(addon, addons) else {}
    candidates = [instance for name in rivals(addon, addons) for instance in seen[name]]
    wanted_modules = (gates.states.find_module(name) for name, _ in addon.requires.modules)
    return GateWorld(
        kubernetes=served.kube_version,
        namespaces=gates.namespaces,
        instances=candidates,
        installed=heads.keys(),
        heads=heads,
        current={each.unit for each in candidates if _is_current(gates, each)},
        addons=addons,
        ready_addons={name for name, cache in seen.items() if any(_is_ready(gates, each) for each in cache)},
        kinds=frozenset(served.api_versions),
        modules={state.name: required_module(state) for state in wanted_modules if state and state.on},
        objects=dict(zip(required, problems, strict=True)),
        cyclic=cyclic_addons(addons),
        account_required=gates.accounts == "require",
        hidden={name: cache.obstacle or "not listed yet" for name, cache in seen.items() if not cache.is_listed},
    )


def required_module(state: ModuleState) -> RequiredModule:
    """A module as gates see it."""
    return RequiredModule(state.complete, state.module.traits.version)


def problem_of_object(obj: JSON) -> str:
    """Why a required object is not ready; empty if it is."""
    health = health_of(obj, datetime.now(UTC))
    return "" if health.status == "Current" else health.message or str(health.status)


def _is_ready(gates: InstanceGates, instance: Instance) -> bool:
    """Does it work? An earlier process may have said so last."""
    known = gates.reported.find(instance.unit)
    works = known.state.is_current if known else instance.status.get("healthy") is True
    return works and not instance.is_deleting


def _is_current(gates: InstanceGates, instance: Instance) -> bool:
    """Has this process found that its present spec is installed and works? Nothing is removed because of a status,
    which others may write."""
    known = gates.reported.find(instance.unit)
    if known is None or known.facts is None or known.instance.uid != instance.uid:
        return False
    return known.state.is_current and known.facts.generation == instance.generation


async def _problem_of(gates: InstanceGates, wanted: RequiredObject) -> str:
    """Why a required object is not ready; empty if it is."""
    try:
        resource = await gates.kinds.resolve(wanted.api_version, wanted.kind)
        obj = await writes.read(gates.client, ObjectRef(resource, wanted.namespace, wanted.name))
    except NotFound:
        return MISSING
    except UnknownKind as error:
        return str(error)
    except KubeError as error:
        return f"it cannot be read: {error}"
    return problem_of_object(obj)
