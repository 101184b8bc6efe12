"""An instance whose packages come from a registry, then from an image layout, on a real control plane; at night, since
an API server has no part in that.

Level: control plane."""

from pathlib import Path

import pytest

from tests.flows.addons.cluster_world import ClusterWorld
from tests.flows.modules.test_addon_oci import follow_a_registry, publish
from tests.packages.oci.artifacts import Layout, files_artifact


@pytest.mark.nightly
async def test_a_registry_is_followed_and_outlives_its_server_and_a_kill(there: ClusterWorld, tmp_path: Path) -> None:
    operator = there.world.operator
    operator.flags = operator.flags[:-1]  # the addons that ship
    await follow_a_registry(there.world, tmp_path)
    publish(Layout(tmp_path / "layout"), "3.0.0", files_artifact)
    await operator.stop()
    operator.flags += (f"--addon-source=oci-layout:{tmp_path / 'layout'}",)
    await there.world.start()
    await there.world.becomes("of-thing", text="changed", version="3.0.0")
