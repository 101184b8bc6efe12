"""The life of the shipped module on a real control plane, under exactly the rights of `hookrunner rbac`: installed,
changed, upgraded, rolled back, robbed of its workload, left alone at a restart, turned off. Its containers never run,
since the node is a fake one.

Level: control plane."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hookrunner.cli.debug import ask
from tests.controlplane.build import find_binaries
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.rights import log_in
from tests.faults.proxy import Proxy
from tests.flows.limited_rights import account_of, check_rights, find_rights
from tests.flows.modules.conftest import on
from tests.flows.modules.test_shipped import GREETING, GREETINGS, SELDOM, list_by_helm, webhook_flags, workloads
from tests.flows.modules.world import World

MODULES = Path(__file__).parents[3] / "modules"
SCHEMA = "openapi/config-values.yaml"
REFUSED = "resources: {requests: {cpu: 2}, limits: {cpu: 1}}"
LABEL = "--crd-extra-labels=heritage=story"
"""Of every object, so that each is patched."""


@dataclass(frozen=True, slots=True)
class Life:
    """A module by its directory; its section at first, and after the change; its workload, as the end of a path; the
    tag of its image, which the upgrade changes, and what else that changes in its files; flags of hookrunner, with `_`
    for `-`."""

    directory: str
    key: str
    section: str
    changed: str
    workload: str
    tag: str
    edits: tuple[tuple[str, str, str], ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The module's."""
        return self.directory.partition("-")[2]

    @property
    def path(self) -> str:
        """Of the workload."""
        return f"/apis/apps/v1/namespaces/{self.workload}"


SAMPLE = Life(
    "100-hello-world",
    "helloWorld",
    "greeting: hello",  # which its hook corrects in the ConfigMap
    "greeting: Good day",
    "default/deployments/hello-world",
    "1.29.0",
    (
        ("crds/greetings.yaml", "maxItems: 100", "maxItems: 200"),
        ("hooks/greetings.sh", "failurePolicy: Ignore", "timeoutSeconds: 5\n  failurePolicy: Ignore"),
        ("hooks/lifecycle.sh", '"0 * * * *"', '"* * * * * *"'),
    ),
    flags={"config_secret": "hidden"},
)


@pytest.fixture(scope="module")
def whole_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    """Its requests are audited."""
    directory = tmp_path_factory.mktemp("whole-cluster")
    with ControlPlane(find_binaries(), directory, controllers=True, audited=True) as plane:
        yield OwnCluster(plane, directory)


@pytest.fixture
def life() -> Life:
    """The module's."""
    return SAMPLE


@pytest.fixture
async def limited(
    launcher: tuple[str, ...], whole_cluster: OwnCluster, life: Life, tmp_path: Path
) -> AsyncIterator[World]:
    """Hookrunner with a copy of the module and one that is off, since without any nothing is purged; it has the rights
    that these need and no others."""
    shutil.copytree(MODULES / life.directory, tmp_path / "modules" / life.directory)
    given = {life.key: life.section}
    needed = await asyncio.to_thread(find_rights, given, modules_dir=str(tmp_path / "modules"), **life.flags)
    name = tmp_path.name.replace("_", "-")
    account = await asyncio.to_thread(log_in, whole_cluster, tmp_path, account_of(name, needed.all))
    async with Proxy(whole_cluster.access, tmp_path) as proxy, on(whole_cluster, proxy, "default", tmp_path) as world:
        world.operator.kubeconfig = proxy.kubeconfig_with(account.token)
        world.operator.flags += tuple(f"--{name.replace('_', '-')}={text}" for name, text in life.flags.items())
        world.operator.flags += webhook_flags()
        await world.ask("POST", world.path(resource="secrets"), {"metadata": {"name": "hidden"}})
        world.module("010-off", {"module.yaml": "description: Nothing"})
        await world.configure(**given, **{f"{life.key}Enabled": "true"})
        yield world
        assert '"rights"' not in world.operator.get("/readyz?output=json")[1], "no right is missing"
        await world.delete("hookrunner")
        await world.delete("hidden", "secrets")
    check_rights(whole_cluster, account, needed.all)


async def test_module_lives(limited: World, life: Life) -> None:
    world = limited
    await world.start()
    await reaches(world, life, 1)
    assert await asyncio.to_thread(list_by_helm, world) == {life.name: "deployed"}
    await world.until(lambda: workloads(world), {"hello-world": True}, "its Pods")
    await world.configure(**{life.key: life.changed})
    await reaches(world, life, 2)
    await failed_upgrade_is_rolled_back(world, life)

    good = await deployed(world, life)
    edit(world, life, (SCHEMA, f"default: {life.tag}", "default: 9.9.9"), *life.edits)
    world.operator.flags += (LABEL,)
    await world.again()
    await reaches(world, life, good + 1)
    assert (await image(world, life)).endswith(":9.9.9")
    back = f"/module/{life.name}/rollback?revision={good}"
    await asyncio.to_thread(ask, (world.directory / "debug.socket",), back, {})
    await reaches(world, life, good + 2)
    assert (await image(world, life)).endswith(f":{life.tag}")
    await workload_comes_back(world, life)
    await greetings_and_visits_are_seen(world)

    await world.stop()
    world.writes()
    await world.start()
    assert world.writes() == []
    await removed(world, life)


async def deployed(world: World, life: Life) -> int:
    """The revision that is deployed, 0 without one."""
    ends = [line.partition(" ") for line in await world.releases()]
    return max([int(name.rpartition(".v")[2]) for name, _, status in ends if status == "deployed"], default=0)


async def reaches(world: World, life: Life, revision: int) -> None:
    """Wait until this revision is deployed."""
    await world.until(lambda: deployed(world, life), revision, f"the revision of {life.name}")


async def failed_upgrade_is_rolled_back(world: World, life: Life) -> None:
    """By values that the API server refuses in the workload."""
    good = await deployed(world, life)
    await world.configure(**{life.key: f"{life.changed}\n{REFUSED}"})
    await reaches(world, life, good + 2)
    assert f"{life.name}.v{good + 1} failed" in await world.releases()
    await world.configure(**{life.key: life.changed})
    await world.module_is(life.name, ready=True)


def edit(world: World, life: Life, *edits: tuple[str, str, str]) -> None:
    """Replace texts in files of the copied module."""
    for path, old, new in edits:
        file = world.directory / "modules" / life.directory / path
        text = file.read_text()
        assert old in text, f"{path}: {old}"
        file.write_text(text.replace(old, new))


async def image(world: World, life: Life) -> str:
    """What the workload is to run."""
    spec = (await world.ask("GET", life.path, None))["spec"]["template"]["spec"]
    return str(spec["containers"][0]["image"])


async def workload_comes_back(world: World, life: Life) -> None:
    """Delete it; wait for another one, with Pods that are ready."""
    before = (await world.ask("GET", life.path, None))["metadata"]["uid"]
    await world.ask("DELETE", f"{life.path}?propagationPolicy=Background&story=yes", None)

    async def is_back() -> bool:
        found = await world.ask("GET", life.path, None) or {"metadata": {"uid": before}}
        return found["metadata"]["uid"] != before and bool(found["status"].get("readyReplicas"))

    await world.until(is_back, True, "the workload")


async def greetings_and_visits_are_seen(world: World) -> None:
    """The sample's hooks answer reviews, convert, and write an object by a schedule: again and again."""
    await world.ask("POST", GREETINGS.format("default") + "?story=yes", GREETING)
    shown = {"index.html": "Good day", "title.txt": "GOOD DAY", "greetings.txt": "Good day"}
    await world.becomes("hello-world", **shown)
    seen: set[str] = set()

    async def visits() -> int:
        seen.update((await world.map("hello-world-visits")).values())
        return len(seen)

    await world.until(visits, 2, "two visits")
    await world.module_is(SAMPLE.name, ready=True)
    edit(world, SAMPLE, ("hooks/lifecycle.sh", '"* * * * * *"', SELDOM))


async def removed(world: World, life: Life) -> None:
    """Turn it off: its release is removed, its workload too."""
    await world.configure(**{f"{life.key}Enabled": "false"})
    await world.until(world.releases, [], "the end of the release")
    await world.until(lambda: conversion(world), "None", "the end of the conversions, which is the last thing")
    assert await world.ask("GET", life.path, None) is None


async def conversion(world: World) -> Any:
    """How the API server converts Greetings."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/greetings.hello-world.example.com"
    return (await world.ask("GET", path, None))["spec"]["conversion"]["strategy"]
