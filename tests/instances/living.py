"""Instances over real units, in virtual time: the registry, the gates and what opens them are real; the API server is
a cluster in memory, and a release is a step that takes as long as a test says.

    world = Living(site, addon("dns", requires={...}))
    world.put("dns", "x")
    await world.rests()             # the runs that have reached a release, and the phases of instances
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import orjson

from hookrunner.addons.gates import closed_gate
from hookrunner.errors import NotFound, RunBlocked, RunPostponed
from hookrunner.instances.instance_informer import InstanceCache, follow_instances
from hookrunner.instances.instance_registry import InstanceRegistry, Workshop
from hookrunner.instances.reports.reported_instances import ReportedInstances
from hookrunner.instances.triggers.gate_world import GateViews, look_around
from hookrunner.instances.triggers.requirement_watch import RequirementWatch
from hookrunner.kube.client import ApiCall
from hookrunner.model.addon_status import AddonObstacle
from hookrunner.model.addons import FINALIZER, Addon, Instance
from hookrunner.model.resources import ObjectKey, Resource
from kubetypes.json_values import JSON
from tests.addons.conftest import addon as to_addon
from tests.convergence.site import NO_SCHEMAS, Site
from tests.convergence.units import FakeBlueprint
from tests.fakes.cluster import FakeCluster

NAMESPACE = "kube-system"


def addon(name: str, **keys: Any) -> Addon:
    """An addon whose kind is its name in capitals."""
    return to_addon(name, name.upper(), **keys)


@dataclass
class Packages:
    """`asked` counts how often the source will be asked again."""

    asked: int = 0
    is_closed: bool = False

    def expire(self) -> None:
        self.asked += 1

    def close(self) -> None:
        self.is_closed = True


@dataclass
class GatedBlueprint(FakeBlueprint):
    """Passes the gates and needs no package."""

    addon: Any = None
    instance: Any = None
    views: Any = None
    obstacle: AddonObstacle | None = None
    kept: tuple[str, ...] = ()
    packages: Packages = field(default_factory=Packages)
    specs: list[JSON] = field(default_factory=list)

    def update(self, instance: Instance) -> None:
        self.instance = instance

    async def prepare(self) -> None:
        await super().prepare()
        self.obstacle = closed_gate(self.instance, self.addon, await look_around(self.views, self.addon))
        if self.obstacle:
            error = RunPostponed if self.obstacle.progress == "reconciling" else RunBlocked
            raise error(self.obstacle.message)
        self.specs.append(self.instance.own)


class Server:
    """Reads and patches objects of a cluster in memory; `requests` has the paths."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self.requests: list[str] = []

    async def resolve(self, api_version: str, kind: str) -> Resource:
        return Resource(api_version, kind, f"{kind.lower()}s", True)

    async def get(self, path: str, *_: Any, **__: Any) -> Any:
        self.requests.append(path)
        return self._cluster.objects[self._key(path)]

    async def send(self, call: ApiCall) -> bytes:
        obj = self._cluster.objects[self._key(call.path)]
        metadata = obj["metadata"] | {"finalizers": call.body["metadata"]["finalizers"]}
        if metadata.get("deletionTimestamp") and not metadata["finalizers"]:
            self._cluster.delete(obj)
        else:
            self._cluster.put(obj | {"metadata": metadata})
        return orjson.dumps(obj)

    def _key(self, path: str) -> ObjectKey:
        """Raises NotFound."""
        plural, name = path.split("/")[-2:]
        for key in self._cluster.objects:
            if key.name == name and plural in (key.kind.lower(), f"{key.kind.lower()}s"):
                return key
        raise NotFound(404, "NotFound", path)


class Living:
    """The instances of these addons. Objects stand in `cluster`."""

    def __init__(self, site: Site, *addons: Addon) -> None:
        self.site, self.cluster = site, FakeCluster()
        self.server = Server(self.cluster)
        self.caches = {each.name: InstanceCache(each) for each in addons}
        self.reported = ReportedInstances(site.states.notices, site.metrics, site.now)
        self.ended: list[str] = []
        client: Any = self.server
        schemas: Any = SimpleNamespace(schemas=NO_SCHEMAS)
        self._views = GateViews(self.caches, site.states, self.reported, site.served, client, client, ())
        values = dict.fromkeys(self.caches, schemas)
        workshop = Workshop(values, self._make, client, site.background, self.ended.append)
        self.registry = InstanceRegistry(self.caches, site.units, site.states, workshop)

    async def start(self) -> None:
        """Begin, and wait until the first converge is over."""
        keep, opener = self.site.background.keep, _Opener(self.cluster)
        keep("edits", self.registry.follow_edits)
        required = RequirementWatch(self.registry, self.site.states, opener, self.site.background)
        keep("modules", required.follow_modules)
        keep("objects", required.follow_objects)
        for cache in self.caches.values():
            keep(f"addon {cache.addon.name}", partial(self._follow, opener, cache))
        await self.site.start()
        await self.site.rests()

    def put(self, name: str, of: str, created: int = 1, uid: str = "", **more: Any) -> None:
        """Create or replace an instance; `spec` is that, everything else is metadata."""
        spec, kind = more.pop("spec", {}), self.caches[of].addon.object
        metadata = {"name": name, "namespace": NAMESPACE, "uid": uid or name, "generation": 1}
        stamp = {"creationTimestamp": f"2026-01-01T00:00:{created:02}Z"}
        head = {"apiVersion": kind.api_version, "kind": kind.kind}
        self.cluster.put(head | {"metadata": metadata | stamp | more, "spec": spec})

    def delete(self, name: str, of: str) -> None:
        """As its user does it."""
        self.put(name, of, deletionTimestamp="2026-01-02T00:00:00Z", finalizers=[FINALIZER])

    def blueprint(self, unit: str) -> GatedBlueprint:
        """That of an instance that exists."""
        live = self.registry.get(unit)
        assert live, f"no unit {unit}"
        blueprint: Any = live.blueprint
        assert isinstance(blueprint, GatedBlueprint)
        return blueprint

    @property
    def phases(self) -> Mapping[str, str]:
        """Why instances do not run, by name; "" for those that do."""
        obstacles = {live.blueprint.instance.name: live.blueprint.obstacle for live in self.registry.live}
        return {name: obstacle.phase.value if obstacle else "" for name, obstacle in obstacles.items()}

    async def runs(self) -> list[str]:
        """The releases since the last look, when all is quiet; retries apart."""
        return [step.removesuffix(" release") for step in await self.site.rests() if step.endswith(" release")]

    def _make(self, addon: Addon, instance: Instance) -> Any:
        return GatedBlueprint(addon=addon, instance=instance, views=self._views)

    async def _follow(self, opener: "_Opener", cache: InstanceCache) -> None:
        async for event in follow_instances(opener, cache):
            self.registry.take_in(cache.addon, event)


class _Opener:
    def __init__(self, cluster: FakeCluster) -> None:
        self.open = cluster.watch
