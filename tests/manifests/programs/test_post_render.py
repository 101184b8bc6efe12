"""Executables of `postRender` read all objects and print what is installed."""

from pathlib import Path

import pytest

from hookrunner.errors import RenderFailed
from hookrunner.manifests.programs.post_render import post_render
from hookrunner.manifests.programs.program_runner import ProgramRunner
from tests.manifests.conftest import sourced

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
