"""Shipped addons lack one of their rules, at night each of them: `/readyz`, an Event and
`hookrunner status` name that one, and the addon goes on as soon as it is back.

Level: control plane.
"""

import random
from pathlib import Path

import pytest

from tests.controlplane.cluster import OwnCluster
from tests.flows.addons.test_addon_lives import LIVES
from tests.flows.addons.test_addon_lives import Life as AddonFacts
from tests.flows.operator import Operator
from tests.flows.taken.addon_lives import AddonWorld, addon_flags, addon_rights
from tests.flows.taken.every_rule import lose_each
from tests.flows.taken.life import live_without
from tests.flows.taken.release_lives import life_of, write_directory
from tests.flows.taken.reports import check, report
from tests.flows.taken.taken_rule import LimitedAccount, choose, seed_of_run

ADDONS = {str(life.addon): life for life in LIVES}
A_DAY = 4
"""Addons, since each takes a life."""


@pytest.fixture
def addon(number: int) -> str:
    """One of today's."""
    return random.Random(seed_of_run()).sample([*ADDONS], A_DAY)[number]


@pytest.fixture
def world(audited: OwnCluster, addon: str, tmp_path: Path) -> AddonWorld:
    """One of the addons, in a program that is not started."""
    facts: AddonFacts = ADDONS[addon]
    account = LimitedAccount(audited, tmp_path, addon, addon_rights(addon))
    operator = Operator(write_directory(tmp_path / "op"), account.kubeconfig, addon_flags(addon))
    return AddonWorld(audited, operator, account, facts)


@pytest.mark.parametrize("number", range(A_DAY))
async def test_a_rule_that_an_addon_lacks_is_named(addon: str, world: AddonWorld) -> None:
    taken = choose(world.account.rules, seed_of_run(), addon)
    check([report(addon, await live_without(life_of(world), taken))])


@pytest.mark.nightly
@pytest.mark.parametrize("addon", ADDONS)
async def test_each_rule_that_an_addon_lacks_is_named(addon: str, world: AddonWorld) -> None:
    check(await lose_each(world))
