"""Foreign programs that print objects: they are bounded, and what they do wrong is reported. Executables of
`postRender` read all objects and print what is installed.

Level: pure."""

import sys
from pathlib import Path

import pytest

from hookrunner.errors import RenderFailed
from hookrunner.manifests.program_runner import Program, ProgramLimits, ProgramRunner, post_render
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from tests.manifests.conftest import sourced

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


ENV = {"PATH": "/usr/bin:/bin", "WHO": "hookrunner"}
OBJECTS = [sourced("ConfigMap", "a", data={"x": "old", "on": "1"}), sourced("Secret", "b")]
ADDED = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ServiceAccount, metadata: {name: c}}]}"


def executable(directory: Path, name: str, script: str, mode: int = 0o755) -> Path:
    path = directory / name
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(mode)
    return path


async def test_executables_change_add_and_drop_objects_in_turn(runner: ProgramRunner, tmp_path: Path) -> None:
    first = executable(tmp_path, "first", f"sed 's/x: old/x: '$WHO'/'; echo ---; echo '{ADDED}'")
    second = executable(tmp_path, "second", "sed '/kind: Secret/,$d' | head -n -2; cat kind")
    (tmp_path / "kind").write_text(f"---\n{ADDED}\n")
    objects = await post_render(OBJECTS, [first, second], runner, ENV)
    assert [(source.kind, source.path) for source in objects] == [
        ("ConfigMap", "a.yaml"),
        ("ServiceAccount", "postRender second"),
    ]
    assert objects[0].obj["data"] == {"x": "hookrunner", "on": "1"}


async def test_objects_come_back_as_they_went(runner: ProgramRunner, tmp_path: Path) -> None:
    assert await post_render(OBJECTS, [executable(tmp_path, "cat", "cat")], runner, ENV) == tuple(OBJECTS)
    assert await post_render(OBJECTS, [], runner, ENV) == tuple(OBJECTS)


@pytest.mark.parametrize(
    ("script", "mode", "message"),
    [
        ("exit 1", 0o755, "postRender render: exit status 1"),
        ("cat > /dev/null", 0o755, "postRender render: printed no objects"),
        ("echo garbage", 0o755, "postRender render, document 1: not an object but a text of 7 characters"),
        ("echo '{kind: A, apiVersion: v1}'", 0o755, "postRender render, document 1: A has no metadata.name"),
        ("cat", 0o644, "permission denied; make it executable: chmod +x "),
    ],
)
async def test_an_executable_that_fails_or_prints_no_objects_is_named(
    runner: ProgramRunner, tmp_path: Path, script: str, mode: int, message: str
) -> None:
    with pytest.raises(RenderFailed) as failed:
        await post_render(OBJECTS, [executable(tmp_path, "render", script, mode)], runner, ENV)
    assert message in str(failed.value)


async def test_an_executable_that_is_not_there_is_named(runner: ProgramRunner, tmp_path: Path) -> None:
    with pytest.raises(RenderFailed, match="is not there; correct `postRender`"):
        await post_render(OBJECTS, [tmp_path / "none"], runner, ENV)
