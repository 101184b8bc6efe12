"""An instance whose packages come from a git repository, on a real control plane; at night, since an API server has
no part in that.

Level: control plane."""

from pathlib import Path

import pytest

from tests.flows.addons.cluster_world import ClusterWorld
from tests.flows.modules.test_addon_git import follow_a_branch


@pytest.mark.nightly
async def test_a_branch_is_followed_and_outlives_its_server_and_a_kill(there: ClusterWorld, tmp_path: Path) -> None:
    operator = there.world.operator
    operator.flags = operator.flags[:-1]  # the addons that ship
    await follow_a_branch(there.world, tmp_path / "addons.git")
