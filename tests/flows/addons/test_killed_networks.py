"""Calico takes the place of Flannel on a real control plane, and Flannel that of Calico, while hookrunner is killed at
each write. Level: control plane."""

import pytest
import yaml

from hookrunner.model.addons import REPLACES
from kubetypes.json_values import JSON
from tests.flows.addons.cluster_world import ADDONS, GROUP, ClusterWorld
from tests.flows.addons.mortal_operator import die_at_each_write, installed
from tests.flows.addons.test_replacement_story import annotate, reason

FLANNEL, CALICO = f"{GROUP}/flannels/default", f"{GROUP}/calicos/default"


@pytest.mark.nightly
async def test_networks_replace_each_other_by_processes_that_die_at_each_write(there: ClusterWorld) -> None:
    there.world.operator.flags += ("--addons=flannel,calico",)
    await there.world.start()
    await there.install("flannel", FLANNEL, {})
    await there.reaches(FLANNEL, {"phase": "Current"})
    before = await installed(there)
    await there.world.stop()

    await there.apply(successor({"apiServer": {"host": "192.0.2.1"}}))
    deaths = await die_at_each_write(there, lambda: has_replaced(there, CALICO, FLANNEL))
    await there.world.stop()
    assert before.keys().isdisjoint(await installed(there))

    await annotate(there, CALICO, None)
    await annotate(there, FLANNEL, "calico/default")
    deaths += await die_at_each_write(there, lambda: has_replaced(there, FLANNEL, CALICO))
    assert deaths > 2 * len(before)
    assert await installed(there) == before


def successor(spec: JSON) -> dict[str, JSON]:
    """Calico, which takes the place of Flannel."""
    example: dict[str, JSON] = yaml.safe_load((ADDONS / "calico/example.yaml").read_text())
    return example | {"metadata": example["metadata"] | {"annotations": {REPLACES: "flannel/default"}}, "spec": spec}


async def has_replaced(there: ClusterWorld, new: str, old: str) -> bool:
    return (await reason(there, new), await reason(there, old)) == ("Current", "Replaced")
