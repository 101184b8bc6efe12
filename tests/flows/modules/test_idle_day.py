"""A day without changes, in which hookrunner writes nothing: the program in the test's own event loop, with clocks that
are set forward twenty minutes at a time, which every watch takes for a dead connection, and whatever else goes on.

Level: sandbox."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hookrunner import app
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.cluster_lookup import Lookup
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings, load
from kubesandbox.sandbox import Sandbox
from tests.controlplane.processes import free_port
from tests.fakes.objects import definition
from tests.flows.modules.hooks import configmap
from tests.flows.modules.test_leftovers import RESTLESS
from tests.flows.waiting import INTERVAL, until

STEP, STEPS = 1200.0, 72
CORE = "/api/v1/namespaces/default"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HOOK = """\
#!/bin/sh
[ "$1" = --config ] && exec echo '{"configVersion":"v1","afterHelm":1,"schedule":[{"crontab":"*/20 * * * *"}]}'
echo '{"op":"add","path":"/alpha/found","value":"same"}' > "$VALUES_JSON_PATCH_PATH"
echo '{"op":"add","path":"/alpha/x","value":"one"}' > "$CONFIG_VALUES_JSON_PATCH_PATH"
grep -o -e afterHelm -e schedule "$BINDING_CONTEXT_PATH" | head -1 >> "$TOLD"
"""
TELLS = """\
#!/bin/sh
[ "$1" = --config ] && exec echo '{"configVersion":"v1","afterHelm":1}'
echo afterHelm >> "$TOLD"
"""
CHART = "x: {{ .Values.alpha.x }}\nserved: {{ .Capabilities.APIVersions.Has .Values.alpha.kind | quote }}"
MODULES = {
    "010-alpha/templates/a.yaml": configmap("alpha", CHART),
    "010-alpha/hooks/h.sh": HOOK,
    "020-restless/templates/s.yaml": RESTLESS,
    "020-restless/hooks/h.sh": TELLS,
}


class Day:
    """The program at work. `writes` are its requests that change something, Leases and Events left out."""

    def __init__(self, told: Path, sandbox: Sandbox, client: Client, forward: Callable[[float], None]) -> None:
        self.sandbox = sandbox
        self.writes: list[str] = []
        self._told = told
        self._client = client
        self._forward = forward

    async def send(self, method: str, path: str, body: Any, content: str = "application/json") -> None:
        """The story's own request."""
        await self._client.send(ApiCall(method, path, {"story": "yes"}, body, content))

    async def records(self) -> dict[str, str]:
        """Those of all releases: names and resourceVersions."""
        items = (await self._client.get(f"{CORE}/secrets", {"labelSelector": "owner=helm"}))["items"]
        return {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in items}

    def ran(self, word: str) -> int:
        """How often the hook has been run for this."""
        return self._told.read_text().count(word) if self._told.exists() else 0

    async def passes(self, seconds: float, word: str, before: int | None = None) -> None:
        """Set the clocks forward when nothing is under way; the hook is then run for this, and all is quiet again.
        `before`: how often it had been when its cause came."""
        await self._quiet()
        before = self.ran(word) if before is None else before
        self._forward(seconds)
        await until(lambda: self.ran(word) > before, word)
        await self._quiet()

    async def watches(self) -> None:
        """Wait until watches are open again, which the clocks have ended."""
        await until(lambda: self.sandbox.faults.watching() > 3, "open watches")

    async def _quiet(self) -> None:
        still = 0
        while still < 40:
            await asyncio.sleep(0)
            still = 0 if self._heard() else still + 1

    def _heard(self) -> bool:
        lines = list(self.sandbox.faults.requests)
        self.sandbox.faults.requests.clear()
        own = [line for line in lines if not line.startswith("GET") and "story=yes" not in line]
        self.writes += [line for line in own if "/leases" not in line and "/events" not in line]
        return bool(lines)


@pytest.fixture
def forward(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the machine's clocks forward, also that of the event loop."""
    ahead, monotonic, epoch = [0.0], time.monotonic, time.time
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + sum(ahead))
    monkeypatch.setattr(time, "time", lambda: epoch() + sum(ahead))
    return ahead.append


@pytest.fixture
async def day(sandbox: Sandbox, tmp_path: Path, forward: Callable[[float], None]) -> AsyncIterator[Day]:
    _write(tmp_path)
    (tmp_path / "kc").write_text(sandbox.kubeconfig())
    data = {"alphaEnabled": "true", "restlessEnabled": "true", "alpha": "x: one\n"}
    async with Client(Credentials(KubeSettings(), Connection(sandbox.url)), Requests(Metrics(""))) as client:
        day = Day(tmp_path / "told", sandbox, client, forward)
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hookrunner"}, "data": data}
        await day.send("POST", f"{CORE}/configmaps", config)
        async with _running(tmp_path) as port:
            await _wait_ready(port)
            yield day


@asynccontextmanager
async def _running(directory: Path) -> AsyncIterator[int]:
    places = {"MODULES_DIR": "modules", "HOOKS_DIR": "hooks", "TMP_DIR": "tmp", "KUBE_CONFIG": "kc"}
    ours = {name: str(directory / place) for name, place in (places | {"DEBUG_UNIX_SOCKET": "socket"}).items()}
    port = free_port()
    ours |= {"LISTEN_ADDRESS": "127.0.0.1", "LISTEN_PORT": str(port)}
    others = {"TOLD": str(directory / "told"), "PATH": os.environ["PATH"]}
    settings = load({}, "hookrunner", {f"HOOKRUNNER_{name}": value for name, value in ours.items()} | others)
    program = asyncio.create_task(app.serve(settings, Lookup(settings.kube)))
    try:
        yield port
    finally:
        program.cancel()
        with suppress(asyncio.CancelledError):
            await program


async def _wait_ready(port: int) -> None:
    """Wait for the end of the first converge. Hazard: schedules are armed then, a tick after it; clocks that are set
    forward before would be forgotten, and hooks tell of themselves before they have ended."""
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
        while True:
            with suppress(aiohttp.ClientConnectionError):
                async with session.get("/readyz") as response:
                    if response.ok:
                        return
            await asyncio.sleep(INTERVAL)


def _write(directory: Path) -> None:
    (directory / "hooks").mkdir()
    for path, text in MODULES.items():
        file = directory / "modules" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    (directory / "modules/010-alpha/values.yaml").write_text("alpha: {found: same, kind: example.com/v9}\n")


async def test_nothing_is_written_in_a_day_without_changes(day: Day) -> None:
    """The ConfigMap is written anew with the same content, a hook patches equal values, the API server is away for a
    moment or has forgotten the past, kinds come that a chart might ask for; and no watch outlives a step."""
    await until(lambda: day.ran("afterHelm") == 2, "both modules")
    await day.passes(STEP, "schedule")
    records = await day.records()
    assert sorted(records) == ["sh.helm.release.v1.alpha.v1", "sh.helm.release.v1.restless.v1"]
    day.writes.clear()
    for step in range(STEPS):
        again = {"data": {"alpha": f"x: one  # {step}\n"}}
        await day.send("PATCH", f"{CORE}/configmaps/hookrunner", again, "application/merge-patch+json")
        if step % 6 in (1, 3):
            await day.watches()
        if step % 6 == 1:
            day.sandbox.faults.cut()
        if step % 6 == 3:
            await day.sandbox.faults.expire()
        if step % 12 == 5:
            before = day.ran("afterHelm")  # a slow machine may take the second by itself
            await day.send("POST", CRDS, definition("example.com", f"Kind{step}", "v1"))
            await day.passes(1.0, "afterHelm", before)
        await day.passes(STEP, "schedule")
    assert (day.ran("afterHelm"), day.ran("schedule") > STEPS) == (2 + STEPS // 12, True)
    assert (day.writes, await day.records()) == ([], records)
