"""The manager of each shipped provider lacks one of its rules: `/readyz`, an Event and
`hookrunner status` name that one, and the manager goes on as soon as it is back.

Level: control plane.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from tests.cloud.scenarios.world import World
from tests.controlplane.cluster import OwnCluster
from tests.flows.operator import Operator
from tests.flows.taken.life import Life, live_without
from tests.flows.taken.provider_lives import FACTS, ProviderWorld, provider_flags, provider_rights
from tests.flows.taken.release_lives import write_directory
from tests.flows.taken.reports import check, report
from tests.flows.taken.taken_rule import LimitedAccount, choose, seed_of_run


@pytest.fixture
def world(audited: OwnCluster, tmp_path: Path) -> World:
    """The cloud's state."""
    return World(audited.kubeconfig, audited.request, tmp_path)


@pytest.fixture
def account(audited: OwnCluster, world: World, provider: str, tmp_path: Path) -> LimitedAccount:
    """With exactly the rights of the manager."""
    return LimitedAccount(audited, tmp_path, provider, provider_rights(FACTS[provider], world))


@pytest.fixture
def begin(
    account: LimitedAccount, world: World, provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Life]]:
    """A new life of the provider."""
    facts, numbers = FACTS[provider], count()
    with contextmanager(facts.cloud)(world, monkeypatch) as put:

        def make() -> Life:
            directory = write_directory(tmp_path / f"op{next(numbers)}")
            operator = Operator(directory, account.kubeconfig, provider_flags(facts, world))
            steps = [*ProviderWorld(account.cluster, operator, facts, put).steps()]
            return Life(account.cluster, account, operator, steps)

        yield make


@pytest.mark.parametrize("provider", FACTS)
async def test_a_rule_that_a_provider_lacks_is_named(
    provider: str, account: LimitedAccount, begin: Callable[[], Life]
) -> None:
    taken = choose(account.rules, seed_of_run(), provider)
    check([report(provider, await live_without(begin(), taken))])


@pytest.mark.nightly
@pytest.mark.parametrize("provider", FACTS)
async def test_each_rule_that_a_provider_lacks_is_named(
    provider: str, account: LimitedAccount, begin: Callable[[], Life]
) -> None:
    check([report(provider, await live_without(begin(), taken)) for taken in account.rules])
