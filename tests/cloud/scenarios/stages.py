"""A world whose way to the end can be looked at: the requests of a manager go through the fault proxy, and the calls
that it makes are in the cloud's log.

    with proxied(world, directory) as proxy:
        stage = Stage(world, proxy, hookrunner)
        with stage.run(): ...
        stage.writes("web"), stage.calls("lb-ensure", about="web")
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TypeVar

import yaml

from tests.cloud.scenarios.documents import SIMCLOUD, Document
from tests.cloud.scenarios.managers import ours, upstream
from tests.cloud.scenarios.world import NAMESPACE, Scene, World
from tests.controlplane.kubeconfig import Access
from tests.faults.proxy import PATIENCE, Proxy

Manager = Callable[[World, Path, Path, tuple[str, ...]], AbstractContextManager[object]]
"""Runs with a world, the kubeconfig to use in place of the world's, a provider and flags."""
_BALANCERS = ("lb-get", "lb-ensure", "lb-update", "lb-delete")
_Result = TypeVar("_Result")
_WRITES = {"POST", "PUT", "PATCH", "DELETE"}


def kubernetes(
    world: World, kubeconfig: Path, provider: Path, flags: tuple[str, ...]
) -> AbstractContextManager[object]:
    """Kubernetes' own."""
    return upstream(world, f"--kubeconfig={kubeconfig}", *flags, provider=provider)


def hookrunner(
    world: World, kubeconfig: Path, provider: Path, flags: tuple[str, ...]
) -> AbstractContextManager[object]:
    """Ours, as Kubernetes' own behaves."""
    return ours(world, f"--kube-config={kubeconfig}", "--compat=upstream", *flags, provider=provider)


@dataclass(frozen=True, slots=True)
class Stage:
    """A world, the proxy before its API server, and one of the two managers."""

    world: World
    proxy: Proxy
    manager: Manager

    def run(self, *flags: str, provider: Path = SIMCLOUD) -> AbstractContextManager[object]:
        """Run the manager until the end of the block, with a process of the provider for each call."""
        return self.manager(self.world, self.proxy.kubeconfig, provider, flags)

    def writes(self, name: str) -> list[str]:
        """The manager's requests that wanted to change the object of this name, in order. Events do not count."""
        requests = [request for request in tuple(self.proxy.requests) if request.method in _WRITES]
        return [f"{request.method} {request.path}" for request in requests if name in request.path.split("/")]

    def calls(self, *verbs: str, about: str = "") -> list[Document]:
        """The calls of these verbs that the cloud has answered, in order: all, or those about one Service or Node."""
        calls = [call for call in self.world.calls() if call["verb"] in verbs]
        return [call for call in calls if not about or _is_about(call, about)]

    def end(self, scene: Scene) -> Document:
        """What one scene looks like now."""
        return self.world.ends([scene])[scene.name]

    def verbs(self, service: Scene) -> list[str]:
        """What the cloud was asked about the load balancer of a Service, in order."""
        return [call["verb"] for call in self.calls(*_BALANCERS, about=service.name)]

    def balancers(self, service: Scene) -> list[str]:
        """The names of the load balancers of a Service."""
        found = self.cloud().get("loadBalancers", {})
        return [name for name, balancer in found.items() if balancer["service"] == f"{NAMESPACE}/{service.name}"]

    def backends(self, service: Scene) -> set[str]:
        """The Nodes that the load balancers of a Service have, of those that scenes of Services are about."""
        return {name for balancer in self.end(service)["balancers"] for name in balancer[1]}

    def routes(self) -> dict[str, list[Document]]:
        """To which addresses each route leads, by its network."""
        found = self.cloud().get("routes", ())
        return {route["destinationCIDR"]: route["targetNodeAddresses"] for route in found}

    def cloud(self) -> Document:
        """What the cloud has."""
        found: Document = json.loads(self.world.state.read_text())
        return found

    def set_faults(self, *faults: Document) -> None:
        """How the cloud's calls fail from now on."""
        self.world.change_cloud(lambda cloud: cloud.update(faults=list(faults)))


@contextmanager
def proxied(world: World, directory: Path) -> Iterator[Proxy]:
    """The fault proxy before a world's API server, in a thread of its own: tests that block do not hold it up."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="proxy")
    thread.start()
    try:
        proxy = _wait_for(_begin(world, directory), loop)
        yield proxy
        _wait_for(proxy.__aexit__(None, None, None), loop)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def run_in(proxy: Proxy, work: Coroutine[object, object, object]) -> None:
    """Do something in the proxy's thread."""
    _wait_for(work, proxy.loop)


async def resume(proxy: Proxy) -> None:
    """End all stalls; what was held arrives."""
    proxy.resume()


async def disconnect(proxy: Proxy) -> None:
    """Break all connections, and accept no other."""
    await proxy.refuse()
    proxy.cut()


def _wait_for(work: Coroutine[object, object, _Result], loop: asyncio.AbstractEventLoop) -> _Result:
    return asyncio.run_coroutine_threadsafe(work, loop).result(PATIENCE)


async def _begin(world: World, directory: Path) -> Proxy:
    config = yaml.safe_load(world.kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    # The sandbox has neither a certificate nor users; the proxy's own stands in for the one, any token for the other.
    trusted = Path(cluster.get("certificate-authority") or directory / "proxy.crt")
    access = Access(cluster["server"], trusted, (user or {}).get("token", "anyone"))
    return await Proxy(access, directory).__aenter__()


def _is_about(call: Document, name: str) -> bool:
    service = call.get("service")
    return name in call.get("nodes", ()) if service is None else bool(service == f"{NAMESPACE}/{name}")
