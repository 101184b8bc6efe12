"""Each shipped webhook lacks one of its rules: `/readyz` and `hookrunner status` name that one, and
the log; the API server asks the webhook as soon as it is back.

A webhook is about no object that an Event could be about.

Level: control plane.
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from tests.controlplane.cluster import OwnCluster
from tests.flows.limited_rights import find_rights
from tests.flows.operator import Operator
from tests.flows.taken.life import REGISTRATIONS, Life, live_without
from tests.flows.taken.release_lives import write_directory
from tests.flows.taken.reports import check, report
from tests.flows.taken.taken_rule import LimitedAccount, choose, seed_of_run
from tests.flows.taken.webhook_lives import LEFTOVERS, NAMES, WEBHOOKS, WebhookWorld
from tests.flows.webhooks import Site


@pytest.fixture
def site(audited: OwnCluster) -> Site:
    """Where the webhook is registered."""
    return Site(audited, "default")


@pytest.fixture
def account(audited: OwnCluster, site: Site, hook: str, tmp_path: Path) -> LimitedAccount:
    """With exactly the rights of the hook."""
    (directory := tmp_path / "rbac").mkdir()
    for file in WEBHOOKS.glob(f"{hook}*"):
        (directory / file.name).write_bytes(file.read_bytes())
        (directory / file.name).chmod(file.stat().st_mode)
    flags = {name.replace("-", "_"): text for name, text in (flag[2:].split("=") for flag in site.flags)}
    return LimitedAccount(audited, tmp_path, site.name, find_rights(hooks_dir=str(directory), **flags).all)


@pytest.fixture
def begin(site: Site, account: LimitedAccount, hook: str, tmp_path: Path) -> Callable[[], Life]:
    """A new life of the hook."""
    numbers = count()

    def make() -> Life:
        operator = Operator(write_directory(tmp_path / f"op{next(numbers)}"), account.kubeconfig, site.flags)
        world = WebhookWorld(site, operator, hook)
        return Life(
            account.cluster,
            account,
            operator,
            [*world.steps()],
            where="log",
            unneeded=(*REGISTRATIONS, *LEFTOVERS[hook]),
        )

    return make


@pytest.mark.parametrize("hook", NAMES)
async def test_a_rule_that_a_webhook_lacks_is_named(
    hook: str, account: LimitedAccount, begin: Callable[[], Life]
) -> None:
    taken = choose(account.rules, seed_of_run(), hook)
    check([report(hook, await live_without(begin(), taken))])


@pytest.mark.nightly
@pytest.mark.parametrize("hook", NAMES)
async def test_each_rule_that_a_webhook_lacks_is_named(
    hook: str, account: LimitedAccount, begin: Callable[[], Life]
) -> None:
    check([report(hook, await live_without(begin(), taken)) for taken in account.rules])
