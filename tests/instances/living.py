"""Instances over real units, in virtual time: the registry, the gates and what opens them are real; the API server is
a cluster in memory, and a release is a step that takes as long as a test says.

    world = Living(site, addon("dns", requires={...}))
    world.put("dns", "x")
    await world.rests()             # the runs that have reached a release, and the phases of instances
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import orjson

from hookrunner.addons.gates.gates import GateVerdict
from hookrunner.convergence.plan import Plan
from hookrunner.errors import NotFound, RunBlocked, RunPostponed
from hookrunner.instances.instance_informer import InstanceCache, InstanceCaches
from hookrunner.instances.instance_registry import InstanceRegistry
from hookrunner.instances.instance_rollbacks import GivenUp
from hookrunner.instances.protection.protection_state import PENDING
from hookrunner.instances.reports.reported_instances import ReportedInstances
from hookrunner.instances.rollout_watch import RolloutWatch
from hookrunner.instances.status_reports import StatusReports
from hookrunner.instances.status_writer import StatusWriter
from hookrunner.instances.triggers.gate_world import InstanceGates
from hookrunner.instances.triggers.requirement_watch import RequirementWatch
from hookrunner.instances.units.live_unit import Workshop
from hookrunner.kube.back_off import Outage
from hookrunner.kube.client import ApiCall
from hookrunner.model.addon_status import AddonObstacle, ObjectReport, ProtectionState
from hookrunner.model.addons import FINALIZER, Addon, Instance
from hookrunner.model.releases import Head
from hookrunner.model.resources import ObjectKey, Resource
from hookrunner.model.unit_state import UnitState
from hookrunner.releases.manifest_objects import ReleaseId
from hookrunner.releases.object_watches import ObjectWatches
from hookrunner.waits import Batches
from kubetypes.json_values import JSON
from tests.addons.conftest import addon as to_addon
from tests.convergence.planners import FakePlanner
from tests.convergence.site import Site
from tests.fakes.cluster import FakeCluster

NAMESPACE = "kube-system"


def addon(name: str, **keys: Any) -> Addon:
    """An addon whose kind is its name in capitals."""
    return to_addon(name, name.upper(), **keys)


def head_of(unit: str) -> Head:
    """The revision of an instance that is installed."""
    return Head(unit, "home", 1, "deployed", owned=True, version="1.0.0")


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
class GatedPlanner(FakePlanner):
    """Passes the gates and needs no package. `tries` counts its runs; what is installed is always revision 1."""

    addon: Any = None
    instance: Any = None
    gates: Any = None
    served: Any = None
    packages: Packages = field(default_factory=Packages)
    specs: list[JSON] = field(default_factory=list)
    tries: int = 0
    tried: int = 0
    prepared: Any = None
    has_read_head: bool = True
    given_up: Any = field(default_factory=GivenUp)
    installed: Head | None = None
    verdict: GateVerdict = field(default_factory=GateVerdict)
    heads: dict[str, Head] = field(default_factory=dict)

    def update(self, instance: Instance) -> None:
        self.instance = instance

    async def plan(self, state: UnitState) -> Plan:
        self.tries, self.tried = self.tries + 1, self.instance.generation
        unit = self.instance.unit
        heads = await self.gates.read_releases()
        self.installed = heads.get(unit)
        self.verdict = await self.gates.admit(self.instance, self.addon, await self.served.get())
        if obstacle := self.verdict.obstacle:
            error = RunPostponed if obstacle.progress == "reconciling" else RunBlocked
            raise error(obstacle.message, obstacle)
        self.specs.append(self.instance.own)
        before, new = self.verdict.predecessor, head_of(unit)
        if before:
            new = replace(new, predecessor=before.name, succession=before.succession)
        self.installed = self.heads[unit] = self.installed or new
        return self.present(state)


class Server:
    """Reads and patches objects of a cluster in memory; `requests` has the paths that were read, `statuses` the phases
    that were written, with the names of their instances."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self.outage = Outage()
        self.requests: list[str] = []
        self.statuses: list[tuple[str, str]] = []

    async def resolve(self, api_version: str, kind: str) -> Resource:
        return Resource(api_version, kind, f"{kind.lower()}s", True)

    async def get(self, path: str, *_: Any, **__: Any) -> Any:
        self.requests.append(path)
        return self._cluster.objects[self._key(path)]

    async def send(self, call: ApiCall) -> bytes:
        obj = self._cluster.objects[self._key(call.path.removesuffix("/status"))]
        if call.path.endswith("/status"):
            self.statuses.append((obj["metadata"]["name"], call.body["status"]["phase"]))
            self._cluster.put(obj | {"status": call.body["status"]})
            return orjson.dumps(obj)
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


class Objects:
    """The health of what is installed, by unit: nothing, which is as good as healthy, unless a test says otherwise."""

    def __init__(self) -> None:
        self._changed = Batches[ReleaseId]()
        self._unready: dict[str, ObjectReport] = {}
        self.faulty: set[str] = set()

    def reports(self, identity: ReleaseId, revision: int) -> tuple[ObjectReport, ...]:
        unit = identity.name
        if unit in self.faulty:
            raise RuntimeError("a fault of hookrunner")
        return (self._unready[unit],) if unit in self._unready else ()

    def become(self, unit: str, report: ObjectReport | None) -> None:
        """Its one object is so; None for none."""
        self._unready.pop(unit, None)
        if report:
            self._unready[unit] = report
        self._changed.put(ReleaseId(unit, "home"))

    async def changes(self) -> AsyncIterator[ReleaseId]:
        while True:
            for identity in await self._changed.next_batch():
                yield identity


class Protection:
    """The protection of all objects, as a test says that it is."""

    def __init__(self) -> None:
        self.state = PENDING

    def state_of(self, unit: str) -> ProtectionState:
        return self.state


class Living:
    """The instances of these addons. Objects stand in `cluster`."""

    def __init__(self, site: Site, *addons: Addon, namespaces: tuple[str, ...] = ()) -> None:
        self.site, self.cluster = site, FakeCluster()
        self.server = Server(self.cluster)
        self.caches = InstanceCaches()
        self.watches = _Opener(self.cluster)
        self.reported = ReportedInstances(site.states.notices, site.metrics, site.now)
        self.objects, self.protection = Objects(), Protection()
        self.ended: list[str] = []
        self.faulty: set[str] = set()
        self.heads: dict[str, Head] = {}
        client: Any = self.server
        self.gates = InstanceGates(
            self.caches, site.states, self.reported, client, client, self._read_releases, namespaces
        )
        workshop = Workshop(self._make, client, site.background, self._forget)
        self.registry = InstanceRegistry(self.caches, site.units, site.states, workshop)
        for each in addons:
            self.registry.offer(InstanceCache(each))
        self._writer = StatusWriter(client)
        rollouts = RolloutWatch(site.tasks.request, site.states.unit_changes.note, site.now)
        self._rollouts = rollouts
        self.reports = StatusReports(
            self.registry, self._writer, self.objects, "home", rollouts, self.reported, self.protection, site.now
        )

    async def start(self) -> None:
        """Begin, and wait until the first converge is over."""
        keep, opener = self.site.background.keep, self.watches
        keep("suspensions", self.registry.follow_suspensions)
        watches = ObjectWatches(opener, self.site.background)
        required = RequirementWatch(self.registry, self.site.states, watches)
        keep("replacements", self.registry.follow_replacements)
        keep("reports", self.reports.follow)
        keep("health", self.reports.follow_health)
        keep("statuses", self._writer.post)
        keep("timeouts", self._rollouts.keep)
        keep("requirements", required.follow_units)
        keep("facts", required.follow_facts)
        for cache in self.caches.values():
            keep(f"addon {cache.addon.name}", partial(self.registry.follow, opener, cache))
        await self.site.start()
        await self.site.rests()

    def put(self, name: str, of: str, created: int = 1, uid: str = "", **more: Any) -> None:
        """Create or replace an instance; `spec` and `status` are those, everything else is metadata."""
        parts = {"spec": more.pop("spec", {}), "status": more.pop("status", {})}
        kind = self.caches[of].addon.object
        metadata = {"name": name, "namespace": NAMESPACE, "uid": uid or name, "generation": 1}
        stamp = {"creationTimestamp": f"2026-01-01T00:00:{created:02}Z"}
        head = {"apiVersion": kind.api_version, "kind": kind.kind}
        self.cluster.put(head | {"metadata": metadata | stamp | more} | parts)

    def delete(self, name: str, of: str, *finalizers: str) -> None:
        """As its user does it; `finalizers` are those of other programs."""
        self.put(name, of, deletionTimestamp="2026-01-02T00:00:00Z", finalizers=[FINALIZER, *finalizers])

    def planner(self, unit: str) -> GatedPlanner:
        """That of an instance that exists."""
        live = self.registry.get(unit)
        assert live, f"no unit {unit}"
        planner: Any = live.planner
        assert isinstance(planner, GatedPlanner)
        return planner

    def obstacle(self, unit: str) -> AddonObstacle | None:
        """Why the last run of an instance failed."""
        live = self.registry.get(unit)
        return live.obstacle if live else None

    @property
    def phases(self) -> Mapping[str, str]:
        """Why instances do not run, by name; "" for those that do."""
        obstacles = {live.instance.name: live.obstacle for live in self.registry.live}
        return {name: obstacle.phase.value if obstacle else "" for name, obstacle in obstacles.items()}

    def status(self, name: str) -> JSON:
        """What the status of an instance says."""
        return self.object(name).get("status") or {}

    def object(self, name: str) -> JSON:
        """An instance that exists, as the API server has it."""
        (obj,) = [obj for key, obj in self.cluster.objects.items() if key.name == name]
        return obj

    async def runs(self) -> list[str]:
        """The releases since the last look, when all is quiet; retries apart."""
        return [step.removesuffix(" release") for step in await self.site.rests() if step.endswith(" release")]

    def _forget(self, unit: str) -> None:
        self.ended.append(unit)
        self._writer.forget(unit)
        self.reported.forget(unit)
        self.gates.forget(unit)

    async def _read_releases(self) -> dict[str, Head]:
        return {unit: self.heads.get(unit) or head_of(unit) for unit in self.site.releases.installed}

    def _make(self, cache: InstanceCache, instance: Instance) -> Any:
        if instance.name in self.faulty:
            raise RuntimeError("a fault of hookrunner")
        parts: Any = {"gates": self.gates, "served": self.site.served, "heads": self.heads}
        return GatedPlanner(addon=cache.addon, instance=instance, **parts)


class _Opener:
    def __init__(self, cluster: FakeCluster) -> None:
        self.open = cluster.watch
