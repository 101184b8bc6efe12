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
        program = Operator(directory, kubeconfig or cluster.kubeconfig, flags)
        made.append(program)
        program.write_hooks(scripts)
        program.start()
        if ready:
            await program.ready()
        return program

    yield start
    for program in made:
        try:
            if program.running():
                await program.stop()
            await program.alone()
        finally:
            program.kill()
            print(program.story())
        assert oops(program.logs()) == []
