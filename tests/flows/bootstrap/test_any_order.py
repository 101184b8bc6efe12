"""A new cluster comes up by the same two things in any order: hookrunner, and the addons' objects.

Level: sandbox."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from kubesandbox.sandbox import Options, Sandbox, serving
from tests import launcher
from tests.fakes.transports import all_closed
from tests.flows.modules.conftest import world
from tests.flows.modules.world import World

__all__ = ["world"]

ROOT = Path(__file__).parents[3]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
INSTANCES = "/apis/addons.x-k8s.io/v1alpha1/namespaces/kube-system"
NAMES = ("kube-proxy", "coredns", "cloud-controller-manager")
SPECS = {
    ("KubeProxy", "kubeproxies"): {"apiServer": {"host": "10.0.0.11"}},
    ("CoreDNS", "coredns"): {"dnsIP": "10.96.0.10"},
    ("CloudControllerManager", "cloudcontrollermanagers"): {},
}
RELEASES = [
    "cloud-controller-manager.kube-system.default.v1 deployed",
    "coredns.kube-system.default.v1 deployed",
    "kube-proxy.kube-system.default.v1 deployed",
]


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    """Its workloads become ready."""
    async with serving(Options(simulate=True)) as sandbox:
        yield sandbox
    await all_closed()


@pytest.fixture
def fresh(world: World) -> World:
    """hookrunner is not started; it has the shipped addons."""
    world.operator.flags += (f"--addons-dir={ROOT / 'addons'}", f"--addons={','.join(NAMES)}")
    return world


@pytest.mark.parametrize("order", [("instances", "hookrunner"), ("hookrunner", "instances")], ids="-".join)
async def test_a_cluster_comes_up_in_any_order(order: tuple[str, ...], fresh: World) -> None:
    for step in order:
        if step == "hookrunner":
            await fresh.start()
        else:
            await create_instances(fresh)
    await fresh.until(fresh.releases, RELEASES, "the releases")
    for _, plural in SPECS:
        await fresh.until(lambda plural=plural: phase(fresh, plural), "Current", plural)  # type: ignore[misc]


async def create_instances(fresh: World) -> None:
    """As soon as their kinds are served: before hookrunner runs, `addon crd` prints their definitions."""
    if not fresh.operator.running():
        words = ("addon", "crd", *NAMES, f"--addons-dir={ROOT / 'addons'}")
        printed = launcher.run(words, cwd=fresh.directory, env={}).stdout
        for definition in yaml.safe_load_all(printed):
            await fresh.ask("POST", DEFINITIONS, definition)
    for (kind, plural), spec in SPECS.items():
        await fresh.until(lambda plural=plural: is_served(fresh, plural), True, f"{kind} is served")  # type: ignore[misc]
        obj = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": kind, "metadata": {"name": "default"}, "spec": spec}
        await fresh.ask("POST", f"{INSTANCES}/{plural}", obj)


async def is_served(fresh: World, plural: str) -> bool:
    return await fresh.ask("GET", f"{INSTANCES}/{plural}", None) is not None


async def phase(fresh: World, plural: str) -> object:
    return (await fresh.ask("GET", f"{INSTANCES}/{plural}/default", None)).get("status", {}).get("phase")
