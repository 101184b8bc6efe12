"""What several tests of Services begin with."""

import pytest

from tests.cloud.services.balancer_world import BalancerWorld
from tests.cloud.upstream_policies import UPSTREAM_SERVICES


@pytest.fixture
def world() -> BalancerWorld:
    return BalancerWorld()


@pytest.fixture
def upstream() -> BalancerWorld:
    return BalancerWorld(policy=UPSTREAM_SERVICES)
