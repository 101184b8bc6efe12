"""Each shipped hook lacks one of its rules: `/readyz` and `hookrunner status` name that one, the log
where a hook's run fails of it, and the hook does what it was asked for as soon as it is back.

A hook is about no object that an Event could be about.

Level: control plane.
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from tests.controlplane.cluster import OwnCluster
from tests.flows.limited_rights import find_rights
from tests.flows.operator import Operator
from tests.flows.taken.hook_lives import AT_ONCE, LIVES, HookWorld, write_hook
from tests.flows.taken.life import Life, live_without, start
from tests.flows.taken.reports import check, report
from tests.flows.taken.taken_rule import LimitedAccount, choose, seed_of_run


@pytest.fixture
def account(audited: OwnCluster, hook: str, tmp_path: Path) -> LimitedAccount:
    """With exactly the rights of the hook."""
    write_hook(tmp_path / "rbac", hook)
    name = hook.partition(".")[0]
    return LimitedAccount(audited, tmp_path, name, find_rights(hooks_dir=str(tmp_path / "rbac")).all)


@pytest.fixture
def begin(audited: OwnCluster, account: LimitedAccount, hook: str, tmp_path: Path) -> Callable[[], Life]:
    """A new life of the hook."""
    numbers = count()

    def make() -> Life:
        name = f"{hook.partition('.')[0]}-{next(numbers)}"
        (directory := tmp_path / name).mkdir()
        operator = Operator(directory, account.kubeconfig, environ=AT_ONCE)
        operator.write_hooks({hook: write_hook(directory / "whole", hook)})
        steps = [start(operator), *LIVES[hook](HookWorld(audited, operator, name))]
        return Life(audited, account, operator, steps, where="log")

    return make


@pytest.mark.parametrize("hook", LIVES)
async def test_a_rule_that_a_hook_lacks_is_named(hook: str, account: LimitedAccount, begin: Callable[[], Life]) -> None:
    taken = choose(account.rules, seed_of_run(), hook)
    check([report(hook, await live_without(begin(), taken))])


@pytest.mark.nightly
@pytest.mark.parametrize("hook", LIVES)
async def test_each_rule_that_a_hook_lacks_is_named(
    hook: str, account: LimitedAccount, begin: Callable[[], Life]
) -> None:
    check([report(hook, await live_without(begin(), taken)) for taken in account.rules])
