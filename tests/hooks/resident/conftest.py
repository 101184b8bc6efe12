"""Resident hooks as processes, which behave as a test says."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.model.bindings import Hook, HookConfig, HookSettings, Resident
from hookrunner.model.contexts import Context, ContextType
from hookrunner.model.hook_runs import RunOptions, RunResult
from hookrunner.model.status import ResidentDump
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings

BEGIN = """#!/usr/bin/env python3
import json, os, signal, sys, threading
if sys.argv[1:] != ["--resident"]:
    print("one-shot")
    sys.exit()
requests, answers = os.fdopen(3, "rb"), os.fdopen(4, "wb", buffering=0)
def send(**message):
    answers.write(json.dumps(message).encode() + b"\\n")
def receive():
    return json.loads(requests.readline() or "null")
def hello(**more):
    receive()
    send(hello={"version": 1, **more})
def runs():
    while (message := receive()) is not None:
        if "run" in message:
            yield message["run"]
def once(name):
    "Whether this is the first process that comes here."
    try:
        os.close(os.open(os.path.join(os.path.dirname(__file__), name), os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
"""
ANSWERS = """
hello()
for run in runs():
    send(answer={"id": run["id"]})
"""


class Residents:
    """Writes a resident hook, and runs it."""

    def __init__(self, directory: Path, children: Children) -> None:
        self.directory = directory
        self.children = children
        self.settings = HooksSettings(
            directory=directory, tmp_dir=directory / "tmp", environ={"PATH": os.environ["PATH"]}
        )
        self.processes = HookProcesses(self.settings, children)
        self.resident = Resident()
        self.timeout: float | None = None

    def hook(self, script: str, name: str = "h.py") -> Hook:
        path = self.directory / name
        path.write_text(BEGIN + script)
        path.chmod(0o755)
        return Hook(name, path, HookConfig("v1", settings=HookSettings(timeout=self.timeout, resident=self.resident)))

    async def run(self, hook: Hook, options: RunOptions | None = None, context: str = "onStartup") -> RunResult:
        contexts = [Context(context, ContextType.STARTUP)]
        async with asyncio.timeout(60):
            return await self.processes.run(hook, contexts, {}, options or RunOptions())

    def state(self, hook: Hook) -> ResidentDump:
        return next(state for other, state in self.processes.residents() if other.name == hook.name)


@pytest.fixture
async def children() -> Children:
    return Children(Patience(kill=0.5, linger=0.05))


@pytest.fixture
async def residents(tmp_path: Path, children: Children) -> AsyncIterator[Residents]:
    residents = Residents(tmp_path, children)
    yield residents
    await residents.processes.close()
    assert len(children) == 0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for in seconds, in tenths; the pause after the first death is not waited for."""
    monkeypatch.setattr("hookrunner.hooks.resident.resident_process.CANCEL_WITHIN", 0.2)
    monkeypatch.setattr("hookrunner.hooks.resident.resident_process.HELLO_WITHIN", 5.0)
    monkeypatch.setattr("hookrunner.hooks.resident.line_carrier.RESTARTS", Quick())
    monkeypatch.setattr("hookrunner.hooks.resident.line_carrier.KILL_AFTER", 0.2)


class Quick:
    """Pauses that take no time."""

    def after(self, failures: int) -> float:
        return 0.0
