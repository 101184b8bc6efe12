"""The smallest resident hooks in several languages (carriers/references), as docs/hook-protocol.md shows them: each
answers --config, runs one-shot and stays, by the same file.

Level: pure."""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hookrunner.hooks.config.hook_config import parse
from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.model.bindings import Hook, HookConfig
from hookrunner.model.contexts import Context, ContextType, Entry
from hookrunner.model.operations import MetricAction, MetricOperation
from hookrunner.model.resources import ObjectKey
from hookrunner.process.child import Command, Patience
from hookrunner.process.children import Children
from hookrunner.process.output import HookLog
from hookrunner.settings import HooksSettings
from tests.controlplane.build import find_go

REFERENCES = Path(__file__).parent / "carriers" / "references"
PAGE = (Path(__file__).parents[2] / "docs" / "hook-protocol.md").read_text()
NAMES = ("count.sh", "count.py", "count.go", *["count.js"] * bool(shutil.which("node")))
STARTUP = Context("onStartup", ContextType.STARTUP)
BINDING = Context("pods", ContextType.SYNCHRONIZATION, source=0)
HUGE = [Entry(ObjectKey("ns", "Pod", "a"), b'{"kind":"Pod","data":"%b"}' % (b"x" * 1000), None)] * 2000


@pytest.fixture(params=NAMES)
def executable(request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = REFERENCES / request.param
    if source.suffix != ".go":
        return Path(shutil.copy(source, tmp_path))
    built = tmp_path_factory.getbasetemp() / "count"
    if not built.exists():
        subprocess.run([find_go(), "build", "-o", built, source], check=True, env=os.environ)
    return built


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    children = Children(Patience())
    yield children
    await children.interpreters.stop()


@pytest.fixture
async def processes(tmp_path: Path, children: Children) -> AsyncIterator[HookProcesses]:
    settings = HooksSettings(directory=tmp_path, tmp_dir=tmp_path / "tmp", environ=dict(os.environ))
    processes = HookProcesses(settings, children)
    yield processes
    await processes.close()
    assert len(children) == 0


def counted(number: int) -> tuple[MetricOperation, ...]:
    return (MetricOperation(MetricAction.ADD, "contexts", float(number)),)


@pytest.mark.slow
async def test_a_reference_answers_its_configuration_one_shot_and_as_it_stays(
    executable: Path, processes: HookProcesses, children: Children
) -> None:
    printed = await children.run(
        Command((str(executable), "--config"), Path(), dict(os.environ), keep_stdout=1000), HookLog()
    )
    resident = Hook("h", executable, parse("h", printed.stdout))
    assert resident.config.settings.resident
    for hook in (Hook("h", executable, HookConfig("v1")), resident):
        for contexts in ([STARTUP], [STARTUP, BINDING], [BINDING]):
            result = await processes.run(hook, contexts, {0: HUGE})
            assert result.answer.metrics == counted(len(contexts))
    ((_, state),) = processes.residents()
    assert (state.processes, state.restarts) == (1, {})


@pytest.mark.parametrize("name", NAMES)
def test_a_reference_is_short_and_stands_on_the_page(name: str) -> None:
    text = (REFERENCES / name).read_text()
    assert f"\n{text}```\n" in PAGE
    assert len([line for line in text.splitlines() if line.strip()]) <= 20
