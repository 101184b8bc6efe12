"""What the gates of an instance look at, gathered at one moment: other instances, modules, the cluster.

Only what an addon requires is asked of the cluster. An object that is required counts as ready by the same rules as an
instance's own objects.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from hookrunner.addons.gates import GateWorld, RequiredModule, cyclic_addons
from hookrunner.convergence.state import ModuleStates
from hookrunner.errors import KubeError, NotFound, UnknownKind
from hookrunner.instances.instance_informer import InstanceCache
from hookrunner.instances.status_writer import StatusWriter
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import ClusterCapabilities
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.addons import Addon, RequiredObject
from hookrunner.releases.health.object_health import health_of
from hookrunner.releases.manifest_objects import KindResolver


@dataclass(frozen=True, slots=True)
class GateViews:
    """Where to look. `caches` are the instances of each offered addon, by its name; `namespaces` those in which
    instances are reconciled, all if empty."""

    caches: Mapping[str, InstanceCache]
    states: ModuleStates
    writer: StatusWriter
    capabilities: ClusterCapabilities
    kinds: KindResolver
    client: Client
    namespaces: tuple[str, ...]


async def look_around(views: GateViews, addon: Addon) -> GateWorld:
    """What holds now, as far as this addon's gates look at it. Raises KubeError."""
    addons = {name: cache.addon for name, cache in views.caches.items()}
    instances = [instance for cache in views.caches.values() for instance in cache]
    served = await views.capabilities.get()
    ready = {instance.addon for instance in instances if (views.writer.status_of(instance.unit) or {}).get("healthy")}
    required = addon.requires.objects
    problems = await asyncio.gather(*(_problem_of(views, wanted) for wanted in required))
    modules = {
        state.module.name: RequiredModule(state.ready and state.last_success > 0, state.module.traits.version)
        for state in views.states.enabled
    }
    return GateWorld(
        kubernetes=served.kube_version,
        namespaces=views.namespaces,
        instances=instances,
        addons=addons,
        ready_addons=ready,
        kinds=frozenset(served.api_versions),
        modules=modules,
        objects=dict(zip(required, problems, strict=True)),
        cyclic=cyclic_addons(addons),
    )


async def _problem_of(views: GateViews, wanted: RequiredObject) -> str:
    """Why a required object is not ready; empty if it is."""
    try:
        resource = await views.kinds.resolve(wanted.api_version, wanted.kind)
        obj = await writes.read(views.client, ObjectRef(resource, wanted.namespace, wanted.name))
    except NotFound:
        return "it does not exist"
    except UnknownKind as error:
        return str(error)
    except KubeError as error:
        return f"it cannot be read: {error}"
    health = health_of(obj, datetime.now(UTC))
    return "" if health.status == "Current" else health.message or str(health.status)
