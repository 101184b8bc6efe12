"""What the gates of an instance look at, gathered at one moment: other instances, modules, the cluster.

Only what an addon's gates look at is gathered, since each run begins with this. An object that is required counts as
ready by the same rules as an instance's own objects.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from hookrunner.addons.gates import GateWorld, RequiredModule, cyclic_addons, looks_at, rivals
from hookrunner.convergence.state import ModuleState, ModuleStates
from hookrunner.errors import KubeError, NotFound, UnknownKind
from hookrunner.instances.instance_informer import InstanceCache
from hookrunner.instances.reports.reported_instances import ReportedInstances
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import ClusterCapabilities
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.addons import Addon, Instance, RequiredObject
from hookrunner.releases.health.object_health import health_of
from hookrunner.releases.manifest_objects import KindResolver
from kubetypes.json_values import JSON

MISSING = "it does not exist"


@dataclass(frozen=True, slots=True)
class GateViews:
    """Where to look. `caches` are the instances of each offered addon, by its name, and `reported` their states;
    `namespaces` are those in which instances are reconciled, all if empty."""

    caches: Mapping[str, InstanceCache]
    states: ModuleStates
    reported: ReportedInstances
    capabilities: ClusterCapabilities
    kinds: KindResolver
    client: Client
    namespaces: tuple[str, ...]


async def look_around(views: GateViews, addon: Addon) -> GateWorld:
    """What holds now, as far as this addon's gates look at it. Raises KubeError."""
    addons = {name: cache.addon for name, cache in views.caches.items()}
    seen = {name: views.caches[name] for name in looks_at(addon, addons)}
    served, required = await views.capabilities.get(), addon.requires.objects
    problems = await asyncio.gather(*(_problem_of(views, wanted) for wanted in required))
    wanted_modules = (views.states.get(name) for name, _ in addon.requires.modules)
    return GateWorld(
        kubernetes=served.kube_version,
        namespaces=views.namespaces,
        instances=[instance for name in rivals(addon, addons) for instance in seen[name]],
        addons=addons,
        ready_addons={name for name, cache in seen.items() if any(_is_ready(views, each) for each in cache)},
        kinds=frozenset(served.api_versions),
        modules={state.module.name: required_module(state) for state in wanted_modules if state and state.on},
        objects=dict(zip(required, problems, strict=True)),
        cyclic=cyclic_addons(addons),
        hidden={name: cache.obstacle or "not listed yet" for name, cache in seen.items() if not cache.is_listed},
    )


def required_module(state: ModuleState) -> RequiredModule:
    """A module as gates see it."""
    return RequiredModule(state.ready and state.last_success > 0, state.module.traits.version)


def problem_of_object(obj: JSON) -> str:
    """Why a required object is not ready; empty if it is."""
    health = health_of(obj, datetime.now(UTC))
    return "" if health.status == "Current" else health.message or str(health.status)


def _is_ready(views: GateViews, instance: Instance) -> bool:
    """Does it work? An earlier process may have said so last."""
    known = views.reported.find(instance.unit)
    works = known.state.is_current if known else instance.status.get("healthy") is True
    return works and not instance.is_deleting


async def _problem_of(views: GateViews, wanted: RequiredObject) -> str:
    """Why a required object is not ready; empty if it is."""
    try:
        resource = await views.kinds.resolve(wanted.api_version, wanted.kind)
        obj = await writes.read(views.client, ObjectRef(resource, wanted.namespace, wanted.name))
    except NotFound:
        return MISSING
    except UnknownKind as error:
        return str(error)
    except KubeError as error:
        return f"it cannot be read: {error}"
    return problem_of_object(obj)
