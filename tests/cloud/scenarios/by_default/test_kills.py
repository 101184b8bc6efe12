"""hookrunner is killed at each of its writes, once before the write arrives and once before its answer comes back, and
in the middle of each call. The next process leads everything to the same end: one load balancer for each Service, no
finalizer without its cleanup, no Node half initialised.

With our defaults, on the sandbox and on a real API server, with a process for each call, which outlives the kill.

Level: control plane.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL, SIGTERM

import pytest

from tests import launcher
from tests.cloud.scenarios.documents import Document, machine, node
from tests.cloud.scenarios.managers import OLD_ENOUGH, UNBOUNDED, is_calling, start_ours
from tests.cloud.scenarios.scenes import FINALIZER, NOT_READY, READY, initialized, service
from tests.cloud.scenarios.stages import proxied, resume, run_in
from tests.cloud.scenarios.world import Scene, Step, World
from tests.faults.proxy import Proxy
from tests.flows.waiting import until

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("launcher")]

WITNESS = Scene("witness", initialized("witness", podCIDRs=["10.244.99.0/24"]))
"""A Node that stays: without any, or without networks, no other is deleted, and no route."""
WAYS = ("before", "after")
ADDRESSES = machine("")["addresses"]
OFF, ON = Step(status=NOT_READY, instance={"state": "shutdown"}), Step(status=READY, instance={"state": "running"})
TERMINATED, DELETED = Step(status=NOT_READY, instance=None), Step(spec=None)
SLOW = 2.0
"""Seconds of a call in which the manager is killed."""


@dataclass
class Mortal:
    """A manager that is killed and started again; `scenes` are all that it was given."""

    world: World
    proxy: Proxy
    scenes: dict[str, Scene] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.program = self._start()

    def restart(self) -> None:
        self.program.send_signal(SIGKILL)
        assert self.program.wait() == -SIGKILL
        run_in(self.proxy, resume(self.proxy))
        self.program = self._start()

    def _start(self) -> launcher.Program:
        flags = (f"--kube-config={self.proxy.kubeconfig}", OLD_ENOUGH, *UNBOUNDED)
        return start_ours(self.world, *flags)

    def make(self, *scenes: Scene) -> None:
        self.world.make(scenes)
        self.scenes |= {scene.name: scene for scene in scenes}

    async def die_at_write(self, write: str, scene: Scene, way: str, step: Step | None = None) -> None:
        """Create the object or change it, and die at the first request that has these words."""
        seen = len(self.proxy.requests)
        self.proxy.stall(write)
        self._begin(scene, step)
        await until(lambda: self._has_sent(write, seen), f"{write} is on its way")
        if way == "after":
            version = _version(self.world.live(scene))
            self.proxy.lose(write, forwarded=True)
            run_in(self.proxy, resume(self.proxy))
            await until(lambda: _version(self.world.live(scene)) != version, f"{write} has arrived")
        self.restart()

    async def die_in_call(self, verb: str, scene: Scene, step: Step | None = None) -> None:
        """Create the object or change it, and die during the call that follows."""
        self.world.change_cloud(lambda cloud: cloud.update(faults=[{"verb": verb, "what": "delay", "seconds": SLOW}]))
        self._begin(scene, step)
        await until(lambda: is_calling(self.program, verb), f"the call {verb}")
        self.world.break_calls(())
        self.restart()

    def _has_sent(self, write: str, since: int) -> bool:
        return any(request.matches(write) for request in tuple(self.proxy.requests)[since:])

    def _begin(self, scene: Scene, step: Step | None) -> None:
        self.world.change(scene, step) if step else self.make(scene)

    async def settle(self, wanted: Iterable[str]) -> None:
        """Wait until these are there and as they should be, and no others."""
        names = {*wanted}

        def others() -> dict[str, Document]:
            ends = self.world.ends(self.scenes.values())
            return {name: end for name, end in ends.items() if not _is_right(end, self.scenes[name], name in names)}

        try:
            await until(lambda: not others(), "all are right")
        except TimeoutError:
            pytest.fail(f"not right: {others()}")
        cloud = json.loads(self.world.state.read_text())
        services = sorted(balancer["service"] for balancer in cloud["loadBalancers"].values())
        assert services == sorted(f"default/{name}" for name in names if self.scenes[name].service)


@pytest.fixture
def proxy(each_world: World, tmp_path: Path) -> Iterator[Proxy]:
    with proxied(each_world, tmp_path) as proxy:
        yield proxy


async def test_killed_at_each_write_and_in_each_call_it_comes_to_the_same_end(each_world: World, proxy: Proxy) -> None:
    mortal = Mortal(each_world, proxy)
    mortal.make(WITNESS, Scene("web", service=service("web")))
    await mortal.settle(mortal.scenes)
    await _begin_lives(mortal)
    await mortal.settle(mortal.scenes)
    await _turn_off_and_on(mortal, mortal.scenes["asked"])
    await mortal.settle(mortal.scenes)
    left = await _end_lives(mortal)
    await mortal.settle(left)
    mortal.program.send_signal(SIGTERM)
    assert mortal.program.wait() == 0


async def _begin_lives(mortal: Mortal) -> None:
    """New Nodes and Services: each death has its own, of which the write that it comes at is the first."""
    for number, way in enumerate(WAYS):
        network = [f"10.244.{number}.0/24"]
        for name, write, document in (
            (f"addresses-{way}", "status", node(f"addresses-{way}")),
            (f"taint-{way}", "", node(f"taint-{way}", addresses=ADDRESSES)),
            (f"network-{way}", "status", initialized(f"network-{way}", addresses=ADDRESSES, podCIDRs=network)),
        ):
            await mortal.die_at_write(f"PATCH nodes/{name} {write}", Scene(name, document), way)
        for name, finalizers in ((f"finalizer-{way}", []), (f"ingress-{way}", [FINALIZER])):
            body = service(name)
            body["metadata"]["finalizers"] = finalizers
            await mortal.die_at_write(f"PATCH services/{name}/status", Scene(name, service=body), way)
    await mortal.die_in_call("instances", Scene("asked", node("asked")))
    await mortal.die_in_call("lb-ensure", Scene("ensured", service=service("ensured")))
    await mortal.die_in_call("lb-update", Scene("backend", node("backend")))
    await mortal.die_in_call("routes-apply", Scene("routed", initialized("routed", podCIDRs=["10.244.9.0/24"])))


async def _turn_off_and_on(mortal: Mortal, scene: Scene) -> None:
    def taints() -> int:
        return len(mortal.world.ends([scene])[scene.name]["taints"])

    for way in WAYS:
        await mortal.die_at_write(f"PATCH nodes/{scene.name}", scene, way, OFF)
        await until(taints, "the taint of a machine that is off")
        await mortal.die_at_write(f"PATCH nodes/{scene.name}", scene, way, ON)
        await until(lambda: not taints(), "the taint to go")


async def _end_lives(mortal: Mortal) -> set[str]:
    """Some Nodes and Services go; the names of the others."""
    gone = [mortal.scenes[f"{what}-{way}"] for way in WAYS for what in ("network", "ingress")]
    for scene, way in zip(gone, ("before", "before", "after", "after"), strict=True):
        what, step = ("PATCH services", DELETED) if scene.service else ("DELETE nodes", TERMINATED)
        await mortal.die_at_write(f"{what}/{scene.name}", scene, way, step)
    await mortal.die_in_call("lb-delete", mortal.scenes["ensured"], DELETED)
    return mortal.scenes.keys() - {scene.name for scene in gone} - {"ensured"}


def _is_right(end: Document, scene: Scene, lives: bool) -> bool:
    """Is it initialised, or has it its load balancer and its address; or is nothing left of it?"""
    if not lives:
        return end.get("exists") is False and not end.get("balancers") and not end.get("routes")
    if scene.service:
        return bool((end["finalizers"], len(end["ingress"]), len(end["balancers"])) == ([FINALIZER], 1, 1))
    networks = scene.node["spec"].get("podCIDRs", [])
    is_marked = end.get("network") == ["False", "RouteCreated"]
    is_routed = end.get("routes", []) == networks and bool(networks) == is_marked
    return bool(end["providerID"]) and end["taints"] == [] and len(end["addresses"]) == 2 and is_routed


def _version(obj: Document) -> str:
    """Of an object that does not exist, or is being deleted without finalizers, it is empty."""
    return str(obj.get("metadata", {}).get("resourceVersion", ""))
