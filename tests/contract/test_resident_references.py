"""The smallest resident hooks in several languages (carriers/references), as docs/hook-protocol.md shows them: each
answers --config, runs one-shot and stays, by the same file. The cases of all carriers (carriers/runs.json) run on each,
with what actor.py does (carriers/bodies) in place of the paragraph that counts.

Level: pure."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hookrunner.hooks.config.hook_config import parse
from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.model.bindings import Hook, HookConfig
from hookrunner.model.contexts import Context, ContextType, Entry
from hookrunner.model.operations import MetricAction, MetricOperation
from hookrunner.model.resources import ObjectKey
from hookrunner.process.child import Command
from hookrunner.process.children import Children
from hookrunner.process.output import HookLog
from tests.contract.test_carriers import CARRIERS, CASES, HERE, World, children, named, play, processes, records
from tests.controlplane.build import find_go
from tests.tables import each

__all__ = ["children", "processes", "records"]

REFERENCES, BODIES = HERE / "references", HERE / "bodies"
PAGE = (Path(__file__).parents[2] / "docs" / "hook-protocol.md").read_text()
NAMES = ("count.sh", "count.py", "count.go", *["count.js"] * bool(shutil.which("node")))
BODY = re.compile(r"^(work\(\)|def answer|const answer|func answer)(.+\n)+", re.MULTILINE)
"""The paragraph that counts."""
STARTUP = Context("onStartup", ContextType.STARTUP)
BINDING = Context("pods", ContextType.SYNCHRONIZATION, source=0)
HUGE = [Entry(ObjectKey("ns", "Pod", "a"), b'{"kind":"Pod","data":"%b"}' % (b"x" * 1000), None)] * 300


@pytest.fixture(params=NAMES)
def executable(request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = REFERENCES / request.param
    if source.suffix != ".go":
        return Path(shutil.copy(source, tmp_path))
    return built(tmp_path_factory.getbasetemp() / "count", source)


@pytest.fixture(params=NAMES)
def actor(request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, body = REFERENCES / request.param, BODIES / request.param
    program = tmp_path / f"actor{source.suffix}"
    is_go = source.suffix == ".go"
    text, count = BODY.subn("" if is_go else lambda _: body.read_text(), source.read_text())
    assert count == 1
    program.write_text(text)
    program.chmod(0o755)
    if not is_go:
        return program
    return built(tmp_path_factory.getbasetemp() / "actor", program, Path(shutil.copy(body, tmp_path / "body.go")))


def built(program: Path, *sources: Path) -> Path:
    """A program of Go, built once."""
    if not program.exists():
        subprocess.run([find_go(), "build", "-o", program, *sources], check=True, env=os.environ)
    return program


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
        for contexts, objects in (([STARTUP], []), ([STARTUP, BINDING], HUGE), ([BINDING], HUGE[:1])):
            result = await processes.run(hook, contexts, {0: objects})
            assert result.answer.metrics == counted(len(contexts))
    ((_, state),) = processes.residents()
    assert (state.processes, state.restarts) == (1, {})


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=named)
async def test_a_reference_carries_a_run(
    tmp_path: Path, processes: HookProcesses, children: Children, records: list[str], case: Any, actor: Path
) -> None:
    """It knows no cancel."""
    case = {**case, "runs": [{**run, **run.get("without_cancel", {})} for run in case["runs"]]}
    await play(World(actor, tmp_path, processes, case, CARRIERS["lines"]), children, records)


@each("name", NAMES)
def test_a_reference_is_short_and_stands_on_the_page(name: str) -> None:
    text = (REFERENCES / name).read_text()
    assert f"\n{text}```\n" in PAGE
    assert len([line for line in text.splitlines() if line.strip()]) <= 20
