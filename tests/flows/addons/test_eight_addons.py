"""Eight addons at once on a control plane whose nodes have no network yet. Level: control plane."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.controlplane.cluster import OwnCluster
from tests.flows.addons.cluster_world import ClusterWorld
from tests.flows.addons.eight_addons import (
    DONE,
    INSTANCES,
    PLURALS,
    apply_examples,
    are_defined,
    create_nodes,
    nodes_come_up,
    phases,
)
from tests.flows.addons.mortal_operator import die_at_each_write, installed, is_quiet
from tests.flows.addons.test_list_of_addons import listed
from tests.flows.bootstrap.fresh_cluster import fresh_cluster

HEALTH = {name: ("True", "Current") for name in PLURALS} | {"metrics-server": ("False", "InProgress")}


@pytest.fixture
def whole_cluster(tmp_path: Path) -> Iterator[OwnCluster]:
    """As kubeadm leaves it."""
    (directory := tmp_path / "cluster").mkdir()
    with fresh_cluster(directory) as cluster:
        yield cluster


@pytest.fixture
async def eight(there: ClusterWorld) -> AsyncIterator[ClusterWorld]:
    """Its nodes come up with the addons that they need."""
    there.world.operator.flags += (f"--addons={','.join(PLURALS)}", "--discovery")
    await create_nodes(there)
    nodes = asyncio.create_task(nodes_come_up(there))
    yield there
    nodes.cancel()
    with suppress(asyncio.CancelledError):
        await nodes


async def test_eight_addons_come_up_together(eight: ClusterWorld) -> None:
    there = eight
    await there.world.start()
    await apply_examples(there)
    await there.until(lambda: phases(there), DONE, "the phases")
    await there.until(lambda: troubled(there), {"metricsservers.addons.x-k8s.io": ["APIService"]}, "the errors")
    await there.until(lambda: health(there), HEALTH, "the list of addons", longest=1.0)
    assert await version(there, "services/kube-dns") < await version(there, "serviceaccounts/node-local-dns"), (
        "nodelocaldns requires the Service of coredns"
    )
    await there.until(lambda: is_quiet(there), True, "no writes")


async def version(there: ClusterWorld, path: str) -> int:
    """When an object that no one changes was created, before or after another one."""
    return int((await there.read(f"/api/v1/namespaces/kube-system/{path}"))["metadata"]["resourceVersion"])


async def troubled(there: ClusterWorld) -> dict[str, list[str]]:
    """The kinds of objects that the errors of each instance name, of those that have any."""
    statuses = {name: await there.status(path) for name, path in INSTANCES.items()}
    errors = {name: status.get("errors") or () for name, status in statuses.items()}
    return {name: [line.partition(" ")[0] for line in lines] for name, lines in errors.items() if lines}


async def health(there: ClusterWorld) -> dict[str, tuple[str, ...]]:
    """What the list of addons says of each."""
    return {name: cells[:2] for name, cells in (await listed(there)).items()}


@pytest.mark.nightly
async def test_eight_addons_are_the_same_after_a_death_at_each_write(eight: ClusterWorld) -> None:
    there = eight
    deaths = await die_at_each_write(there, lambda: are_defined(there))
    await there.world.stop()
    await apply_examples(there)
    deaths += await die_at_each_write(there, lambda: is_done(there))
    assert deaths > len(PLURALS)
    killed = await installed(there), await deployed(there)
    there.world.writes()
    await there.world.again()
    await there.until(lambda: is_quiet(there), True, "no writes")
    assert there.world.writes() == []

    for name in INSTANCES:
        await there.kubectl("delete", name, "default", "-n", "kube-system", "--timeout=60s")
    await there.until(lambda: installed(there), {}, "objects of addons")
    await apply_examples(there)
    await there.until(lambda: is_done(there), True, "the phases")
    await there.until(lambda: is_quiet(there), True, "no writes")
    assert (await installed(there), await deployed(there)) == killed


async def deployed(there: ClusterWorld) -> list[str]:
    """The releases that are deployed, without the numbers of their revisions: an attempt that is interrupted before it
    has remembered a random key is followed by another revision."""
    ends = [line.rpartition(".v") for line in await there.world.releases() if line.endswith(" deployed")]
    return [name for name, _, _ in ends]


async def is_done(there: ClusterWorld) -> bool:
    """Has each instance its phase?"""
    return await phases(there) == DONE
