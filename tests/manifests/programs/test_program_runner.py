"""Foreign programs that print objects: they are bounded, and what they do wrong is said."""

import sys
from pathlib import Path

import pytest

from hookrunner.errors import RenderFailed
from hookrunner.manifests.programs.program_runner import Program, ProgramLimits, ProgramRunner
from hookrunner.process.child import Patience
from hookrunner.process.children import Children

KLOG = 'E1122 20:46:44.412772    9322 run.go:72] "command failed" err="wrong"'
GREEDY = f"{sys.executable} -c 'bytearray(400 << 20)'"


def shell(script: str, tmp_path: Path) -> Program:
    return Program("render", ("/bin/bash", "-c", script), tmp_path, {"PATH": "/usr/bin:/bin"})


async def test_a_program_reads_its_input_and_prints_its_result(runner: ProgramRunner, tmp_path: Path) -> None:
    assert await runner.run(shell("tr a-z A-Z; pwd; echo log >&2", tmp_path), b"abc\n") == f"ABC\n{tmp_path}\n"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo why secret >&2; exit 3", "render: exit status 3: why ***"),
        ("exit 4", "render: exit status 4"),
        ("kill -9 $$", "render: killed by SIGKILL"),
        ("printf '\\xff'", "render: printed bytes that are not UTF-8"),
        ("head -c 70000 /dev/zero", "render: printed more than "),
        (
            'echo \'E1122 20:46:44.412772    9322 run.go:72] "command failed" err="wrong"\' >&2; exit 1',
            'status 1: "wrong"',
        ),
        (GREEDY, "MemoryError"),
    ],
)
async def test_a_program_that_does_wrong_is_an_error(
    runner: ProgramRunner, tmp_path: Path, script: str, message: str
) -> None:
    with pytest.raises(RenderFailed) as failed:
        await runner.run(shell(script, tmp_path), hidden=frozenset({"secret"}))
    assert message in str(failed.value)


async def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    runner = ProgramRunner(Children(Patience(kill=0.1)), tmp_path, ProgramLimits(seconds=0.2))
    with pytest.raises(RenderFailed, match="render: timed out after"):
        await runner.run(shell("trap '' TERM; while :; do sleep 60; done", tmp_path))


async def test_a_program_that_is_not_there_is_named(runner: ProgramRunner, tmp_path: Path) -> None:
    with pytest.raises(RenderFailed, match=r"gone: exit status 127: .*/no/such/program"):
        await runner.run(Program("gone", ("/no/such/program",), tmp_path))
    with pytest.raises(RenderFailed, match=r"its working directory .* is not there"):
        await runner.run(Program("gone", ("/bin/true",), tmp_path / "none"))
