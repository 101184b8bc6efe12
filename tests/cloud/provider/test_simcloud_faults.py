"""The simulated cloud with each of its faults, asked in both ways: no machine that is there is ever said to be gone,
and the next question is answered.

Level: pure."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from simcloud_lib.faults import MISBEHAVIOURS

from hookrunner.cloud.answers import InstanceState, ProviderError, Want
from hookrunner.cloud.provider.executable_provider import ExecutableProvider
from hookrunner.cloud.provider.provider_program import ProviderProgram
from hookrunner.metrics.names import Metrics
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from tests.cloud.checks.sample_provider import nodes_of
from tests.providers.provider_calls import PROVIDERS

pytestmark = pytest.mark.nightly
SIMCLOUD = PROVIDERS / "simcloud"
WORKERS = ["worker-1", "worker-2", "worker-3"]
HARMLESS = {"process": {"child", "strangers"}, "serve": {"child", "strangers", "two-documents"}}
"""Misbehaviours that spoil no entry of a worker, by the way of asking: of two documents on two lines the first is the
answer. `all-gone` is well formed: the loops must not believe it."""


class Simcloud:
    """Commands to the simulated cloud, and the provider that asks it."""

    def __init__(self, config: Path, way: str) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = {"PATH": path, "CLOUD_CONFIG": str(config)}
        self._way = way

    def command(self, *arguments: str) -> None:
        subprocess.run([SIMCLOUD, *arguments], env=self._environment, check=True, capture_output=True)

    @asynccontextmanager
    async def provider(self) -> AsyncIterator[ExecutableProvider]:
        program = ProviderProgram(SIMCLOUD, self._environment, timeout=4.0)
        children = Children(Patience())
        provider = ExecutableProvider(program, children, Metrics())
        running = asyncio.create_task(provider.run())
        try:
            async with asyncio.timeout(30):
                capabilities = await provider.wait_for_capabilities()
            provider.calls.use_limits(replace(capabilities, serve=self._way == "serve"))
            yield provider
        finally:
            running.cancel()
            await asyncio.wait([running])
            assert len(children) == 0


async def ask(provider: ExecutableProvider) -> dict[str, str]:
    answers = await provider.ask_instances(nodes_of(WORKERS), {Want.STATE})
    return {name: "error" if isinstance(answer, ProviderError) else answer.state for name, answer in answers.items()}


@pytest.mark.parametrize("way", ["process", "serve"])
async def test_no_fault_makes_a_machine_gone_and_each_heals(tmp_path: Path, way: str) -> None:
    simcloud = Simcloud(tmp_path / "cloud.json", way)
    running = dict.fromkeys(WORKERS, str(InstanceState.RUNNING))
    wrong = []
    async with simcloud.provider() as provider:
        for fault in sorted({*MISBEHAVIOURS} - {"all-gone"}):
            simcloud.command("fail", "--verb", "instances", "--code", fault)
            during = await ask(provider)
            simcloud.command("recover")
            after = await ask(provider)
            for _ in range(3):  # nodes set aside are answered beside the others
                after = await ask(provider) if after != running else after
            is_safe = set(during.values()) <= {"error", "unknown", "running"}
            is_seen = (during == running) == (fault in HARMLESS[way])
            wrong += [] if is_safe and is_seen and after == running else [(fault, during, after)]
    assert wrong == []
