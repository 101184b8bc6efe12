"""What a run gives a hook and what its answer means, for every carrier: one set of cases (carriers/runs.json) and one
hook that does what they say (carriers/actor.py).

Level: pure."""

import asyncio
import json
import os
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hookrunner.errors import HookFailed
from hookrunner.hooks.config.hook_config import parse
from hookrunner.hooks.config.schema import HookKind
from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.hooks.python_path import DIRECTORY
from hookrunner.model.bindings import Hook
from hookrunner.model.contexts import Context, ContextType, Entry, Include
from hookrunner.model.hook_runs import ExitedBadly, InstanceInput, Run, Values
from hookrunner.model.operations import Answer
from hookrunner.model.resources import ObjectKey
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.process.output import HookLog
from hookrunner.settings import HooksSettings
from hookrunner.waits import Pauses
from tests.contract.golden import plain
from tests.fakes.cluster import until

HERE = Path(__file__).parent / "carriers"
CARRIERS: dict[str, dict[str, Any]] = {"files": {"fork": False}, "fork": {}, "lines": {"resident": True}}
"""The settings that choose each carrier."""
ACTORS = ("actor.py", "sdk_actor.py")
"""A hook without a library, and one with the SDK."""
CASES = json.loads((HERE / "runs.json").read_text())
MODULES = {"plain": "", "global": "global", "module": "m", "addon": "coredns.kube-system.default", "validating": ""}
KINDS = {"global": HookKind.GLOBAL, "module": HookKind.MODULE, "addon": HookKind.ADDON}
PYTHONPATH = {"PYTHONPATH": str(DIRECTORY)}
SCHEDULE = Context("pods", ContextType.SCHEDULE, includes=(Include("pods", 0),))
REVIEW = Context("a.b.c", ContextType.VALIDATING, extra={"review": {"request": {"uid": "1"}}})


class World:
    """A hook that acts as a case says, and what its runs gave. `actor` is its program."""

    def __init__(
        self, actor: Path, directory: Path, processes: HookProcesses, case: Any, settings: dict[str, Any]
    ) -> None:
        self.case = case
        self.path = directory / "hook.py"
        install(actor, self.path)
        settings = {"onStartup": 1, "settings": {**case.get("settings", {}), **settings}}
        runs = filled([run["does"] for run in case["runs"]])
        script = {"config": settings, "runs": runs, "concurrency": case.get("concurrency", 1)}
        Path(f"{self.path}.script.json").write_text(json.dumps(script))
        kind = case.get("kind", "plain")
        config = json.dumps({"configVersion": "v1", **settings}).encode()
        parsed = parse("h", config, KINDS.get(kind, HookKind.PLAIN))
        self.hook = Hook("hook.py", self.path, parsed, MODULES[kind], environ=PYTHONPATH, is_python=True)
        self.context = REVIEW if kind == "validating" else SCHEDULE
        instance = InstanceInput(b'{"kind": "CoreDNS"}', "/package") if kind == "addon" else None
        self.values = Values(b'{"m": 1}', b'{"m": 2}', instance) if self.hook.module else None
        self.snapshot = [Entry(ObjectKey("ns", "Pod", "a"), b'{"kind": "Pod"}', None)] * case.get("snapshot", 1)
        self.processes = processes

    async def check(self, expected: Any) -> None:
        """Carry a run; its answer is the expected one, or it fails as it should."""
        run = Run(self.hook, [self.context], {0: self.snapshot}, values=self.values)
        if "fails" not in expected:
            result = await self.processes.carry(run, HookLog())
            assert shown(result.answer) == filled(expected.get("gives", {}))
            return
        with pytest.raises(HookFailed, match=expected["fails"]) as failed:
            await self.processes.carry(run, HookLog())
        if "despite" in expected:
            assert isinstance(failed.value, ExitedBadly)
            operations = failed.value.operations
            assert [f"{operation.verb} {operation.name}" for operation in operations] == expected["despite"]

    def seen(self) -> list[Any]:
        """What each run was given."""
        return [json.loads(line) for line in Path(f"{self.path}.seen").read_text().splitlines()]


async def play(world: World, children: Children, records: list[str]) -> None:
    """Let the runs of a case happen, and compare what comes of each."""
    case = world.case
    for expected in case["runs"]:
        records.clear()
        checking = asyncio.ensure_future(world.check(expected))
        if "stop" in case:
            await until(lambda: world.path.with_name("began").exists() and len(children) > 0)
            await world.processes.close()
            await children.stop(case["stop"])
        await checking
        assert sorted(records) == sorted(expected.get("logs", records))
        if "sees" in expected:
            assert world.seen()[-1] == expected["sees"]
    if "snapshot" in case:
        assert len(world.seen()[0]["contexts"][0]["snapshots"]["pods"]) == case["snapshot"]


def named(case: Any) -> str:
    return str(case["name"].replace(" ", "-"))


def install(actor: Path, path: Path) -> None:
    """Copy a program. One that has just been written is not forked."""
    shutil.copy(actor, path)
    os.utime(path, (1e9, 1e9))


def is_forked(children: Children, path: Path) -> bool:
    return children.interpreters.reports.get(str(path), "").startswith("a fork")


def shown(value: Answer) -> Any:
    """An answer without what has its default."""
    document = plain(value)
    if value.conversion:
        document["conversion"] = {"objects": [text.decode() for text in value.conversion.objects]}
    return json.loads(json.dumps(document))


def filled(value: Any) -> Any:
    """`<N>` stands for a text of so many characters."""
    return json.loads(re.sub("<([0-9]+)>", lambda found: "x" * int(found[1]), json.dumps(value)))


@pytest.fixture
def children() -> Children:
    return Children(Patience(kill=0.5, linger=0.05))


@pytest.fixture
async def processes(
    tmp_path: Path, children: Children, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[HookProcesses]:
    monkeypatch.setattr("hookrunner.hooks.resident.line_carrier.KILL_AFTER", 0.5)
    monkeypatch.setattr("hookrunner.hooks.resident.line_carrier.RESTARTS", Pauses(0.05, 30.0))
    monkeypatch.setattr("hookrunner.hooks.resident.resident_process.CANCEL_WITHIN", 0.5)
    settings = HooksSettings(directory=tmp_path, tmp_dir=tmp_path / "tmp", environ={"PATH": "/usr/bin:/bin"})
    processes = HookProcesses(settings, children)
    yield processes
    await processes.close()
    await children.interpreters.stop()
    assert len(children) == 0


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is logged of hooks' output: level, message, stream."""
    records: list[str] = []
    monkeypatch.setattr("hookrunner.process.output._log", Records(records))
    return records


class Records:
    """A log that remembers."""

    def __init__(self, records: list[str]) -> None:
        self._records = records

    def log(self, level: str, message: str, **fields: object) -> None:
        self._records.append(f"{level} {message} {fields['output']}")


@pytest.mark.slow
@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("case", CASES, ids=named)
async def test_a_run(
    tmp_path: Path,
    processes: HookProcesses,
    children: Children,
    records: list[str],
    case: Any,
    carrier: str,
    actor: str,
) -> None:
    world = World(HERE / actor, tmp_path, processes, case, CARRIERS[carrier])
    await play(world, children, records)
    assert is_forked(children, world.path) == (carrier == "fork")


async def test_the_log_of_a_hook_that_takes_several_runs(
    tmp_path: Path, processes: HookProcesses, children: Children, records: list[str]
) -> None:
    """It sends what is printed with the run, in a thread, where others leave it to when it is printed."""
    (case,) = ({**case, "concurrency": 2} for case in CASES if "logs" in case["runs"][0])
    await play(World(HERE / ACTORS[1], tmp_path, processes, case, CARRIERS["lines"]), children, records)
