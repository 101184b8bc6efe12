"""What every story starts with: an operator of its own on the run's cluster, and ConfigMaps to play with."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from tests.controlplane.cluster import Cluster
from tests.flows.objects import ConfigMaps
from tests.flows.operator import Operator, oops

Start = Callable[..., Awaitable[Operator]]


@pytest.fixture(autouse=True)
def _starts_the_program(launcher: tuple[str, ...]) -> None:
    """Each test of this room does."""


@pytest.fixture
def cms(cluster: Cluster, namespace: str) -> ConfigMaps:
    """The ConfigMaps of the test's namespace."""
    return ConfigMaps(cluster, namespace)


@pytest.fixture
async def operator(launcher: tuple[str, ...], cluster: Cluster, tmp_path: Path) -> AsyncIterator[Start]:
    """`await operator({"name.sh": script}, "--flag=value", kubeconfig=…, ready=True)` starts one and waits for it.

    In the end it is stopped, and no story may have made it log an error of its own or leave a process behind.
    """
    made: list[Operator] = []
    numbers = itertools.count()

    async def start(
        scripts: Mapping[str, str], *flags: str, kubeconfig: Path | None = None, ready: bool = True
    ) -> Operator:
        directory = tmp_path / f"op{next(numbers)}"
        directory.mkdir()
        one = Operator(directory, kubeconfig or cluster.kubeconfig, flags)
        made.append(one)
        one.write_hooks(scripts)
        one.start()
        if ready:
            await one.ready()
        return one

    yield start
    for one in made:
        try:
            if one.running():
                await one.stop()
            await one.alone()
        finally:
            one.kill()
            print(one.story())
        assert oops(one.logs()) == []
