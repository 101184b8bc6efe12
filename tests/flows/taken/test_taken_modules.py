"""Each shipped module lacks one of its rules: `/readyz`, an Event and `hookrunner status` name that
one, and the module goes on as soon as it is back.

Level: control plane.
"""

import shutil
from pathlib import Path

import pytest

from tests.controlplane.cluster import OwnCluster
from tests.flows.limited_rights import NAMESPACE, find_rights
from tests.flows.modules.test_shipped import webhook_flags
from tests.flows.operator import Operator
from tests.flows.taken.every_rule import lose_each
from tests.flows.taken.life import live_without
from tests.flows.taken.module_lives import FACTS, MODULES, ModuleWorld
from tests.flows.taken.release_lives import life_of, write_directory
from tests.flows.taken.reports import check, report
from tests.flows.taken.taken_rule import LimitedAccount, choose, seed_of_run


@pytest.fixture
def world(audited_whole: OwnCluster, module: str, tmp_path: Path) -> ModuleWorld:
    """One of the modules, in a program that is not started."""
    facts = FACTS[module]
    shutil.copytree(MODULES / facts.directory, tmp_path / "modules" / facts.directory)
    account = LimitedAccount(audited_whole, tmp_path, module, find_rights(modules_dir=str(tmp_path / "modules")).all)
    reached = webhook_flags() if module == "hello-world" else ()
    flags = (f"--modules-dir={tmp_path / 'modules'}", f"--namespace={NAMESPACE}", *reached)
    operator = Operator(write_directory(tmp_path / "op"), account.kubeconfig, flags)
    return ModuleWorld(audited_whole, operator, account, facts)


@pytest.mark.parametrize("module", FACTS)
async def test_a_rule_that_a_module_lacks_is_named(module: str, world: ModuleWorld) -> None:
    taken = choose(world.account.rules, seed_of_run(), module)
    check([report(module, await live_without(life_of(world), taken))])


@pytest.mark.nightly
@pytest.mark.parametrize("module", FACTS)
async def test_each_rule_that_a_module_lacks_is_named(module: str, world: ModuleWorld) -> None:
    check(await lose_each(world))
