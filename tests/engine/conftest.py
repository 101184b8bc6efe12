"""An engine that watches a cluster without HTTP and writes to a sandbox, with real hook processes."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hookrunner.background import Background
from hookrunner.engine.engine import BindingActivator, Engine
from hookrunner.engine.hook_executor import Applier, HookExecutor
from hookrunner.engine.queues import QueueParts
from hookrunner.engine.run_gate import RunGate
from hookrunner.engine.status import Status
from hookrunner.engine.workers import QueueRuns, Queues
from hookrunner.hooks import catalog
from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.objects import Objects
from hookrunner.metrics.hooks import HookMetrics
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests, RunMetrics
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings, KubeSettings
from hookrunner.sources.monitors import Monitors, Streams
from hookrunner.sources.schedule import Schedules
from tests.fakes.cluster import FakeCluster, settle, until
from tests.kube.server import ApiServer, api_server

REMEMBER = 'cat "$BINDING_CONTEXT_PATH" >> "$(dirname "$0")/../runs.$(basename "$0")"\n'


@dataclass(eq=False)
class Bench:
    """A small operator: `hook` writes one, `start` lets it go, `runs` are the contexts that a hook has received."""

    directory: Path
    cluster: FakeCluster
    api: ApiServer
    background: Background
    metrics: Metrics = field(default_factory=lambda: Metrics(""))
    hook_metrics: HookMetrics = field(default_factory=HookMetrics)
    schedules: Schedules = field(default_factory=Schedules)
    children: Children = field(default_factory=lambda: Children(Patience(kill=0.2, linger=0.05)))

    def hook(self, name: str, config: dict[str, Any], script: str = "") -> None:
        """An executable that answers `--config`, remembers its contexts and then does what the script says."""
        path = self.directory / "hooks" / name
        answer = json.dumps(config if "onKubernetesEvent" in config else {"configVersion": "v1", **config})
        path.write_text(f"#!/bin/bash\n[ \"$1\" = --config ] && {{ echo '{answer}'; exit; }}\n{REMEMBER}{script}\n")
        path.chmod(0o755)

    async def start(self, jq: Jq, client: Client) -> None:
        """Load the hooks and run them."""
        clock = asyncio.get_running_loop().time
        settings = HooksSettings(
            directory=self.directory / "hooks", tmp_dir=self.directory / "tmp", environ={"PATH": os.environ["PATH"]}
        )
        children = self.children
        streams = Streams(self.cluster.watch, self.background, self.metrics)
        self.monitors = Monitors(streams, jq, self.background, self.metrics, clock)
        applier = Applier(Objects(client, Discovery(client), jq), self.hook_metrics)
        self.gate = RunGate(self.monitors, clock, self.metrics)
        processes, run_metrics = HookProcesses(settings, children), RunMetrics(self.metrics, clock)
        self.executor = HookExecutor(processes, applier, self.gate, run_metrics, None)
        self.hook_runs = QueueRuns(self.executor, self.gate, self.metrics, clock)
        self.queues = Queues(QueueParts(self.gate, clock, self.metrics))
        self.activator = BindingActivator(self.monitors, self.schedules, jq, self.metrics, clock)
        self.engine = Engine(self.hook_runs, self.activator, self.queues, self.gate, self.background)
        watching, runs = (self.monitors, client.outage), (self.executor, self.hook_runs)
        self.status = Status(self.engine, self.queues, watching, runs, clock)
        loaded = await catalog.load(settings, children, jq)
        self.engine.start(loaded.hooks, self.monitors, self.schedules)

    def runs(self, hook: str) -> list[list[Any]]:
        """The context arrays, one for each run."""
        path = self.directory / f"runs.{hook}"
        written = path.read_bytes() if path.exists() else b""  # its last line perhaps not to the end
        return [json.loads(line) for line in written[: written.rfind(b"\n") + 1].splitlines()]

    async def wait_for_runs(self, hook: str, times: int) -> list[list[Any]]:
        """Wait until the hook has run this many times; the contexts of all its runs."""
        await until(lambda: len(self.runs(hook)) >= times)
        return self.runs(hook)

    async def idle(self) -> None:
        """Wait until nothing runs and nothing can run."""
        await settle()
        await until(lambda: all(queue.resting for queue in self.queues))

    def shown(self) -> list[str]:
        """The descriptions of all tasks."""
        return [text for dump in self.status.queues() for _, text in dump.tasks]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    (tmp_path / "hooks").mkdir()
    with suppress(asyncio.CancelledError):
        async with api_server() as api, asyncio.TaskGroup() as group:
            background = Background(group)
            yield (bench := Bench(tmp_path, FakeCluster(), api, background))
            await bench.children.interpreters.stop()
            background.stop()


@pytest.fixture
async def jq() -> AsyncIterator[Jq]:
    async with Jq(workers=1) as jq:
        yield jq


@pytest.fixture
async def client(bench: Bench) -> AsyncIterator[Client]:
    async with Client(Credentials(KubeSettings(), Connection(bench.api.url)), Requests(bench.metrics)) as client:
        yield client
