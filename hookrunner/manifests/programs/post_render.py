"""Runs the executables of `postRender`: each reads all objects as YAML and prints those to install.

This is Helm's contract of post-renderers, so those work here.
https://helm.sh/docs/topics/advanced/#post-rendering
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from hookrunner.errors import BadManifest, RenderFailed
from hookrunner.manifests.programs.program_runner import Program, ProgramRunner
from hookrunner.manifests.sourced_object import SourcedObject, read_objects, split_lists
from hookrunner.manifests.yaml_writer import dump


async def post_render(
    sources: Sequence[SourcedObject],
    executables: Sequence[Path],
    runner: ProgramRunner,
    env: Mapping[str, str],
    hidden: frozenset[str] = frozenset(),
) -> tuple[SourcedObject, ...]:
    """Run the executables one after the other, each in its own directory; the objects that the last one printed, Lists
    taken apart. An object that was there before keeps the path of its file.

    Raises RenderFailed if one is missing, fails, or prints no objects; the words in `hidden` do not stand in messages.
    """
    paths = {source.identity: source.path for source in sources}
    objects = tuple(sources)
    for executable in executables:
        name = f"postRender {executable.name}"
        _require_executable(executable, name)
        program = Program(name, (str(executable),), executable.parent, env)
        text = await runner.run(program, _stream(objects), hidden)
        objects = _printed_objects(name, text)
    return tuple(SourcedObject(paths.get(source.identity, source.path), source.obj) for source in objects)


def _stream(sources: Sequence[SourcedObject]) -> bytes:
    text = "".join(f"---\n# Source: {source.path}\n{dump(source.obj)}" for source in sources)
    return text.encode(errors="replace")


def _printed_objects(name: str, text: str) -> tuple[SourcedObject, ...]:
    objects = split_lists(read_objects({name: text}))
    if not objects:
        raise BadManifest(f"{name}: printed no objects; a post-renderer prints all objects to install")
    return objects


def _require_executable(path: Path, name: str) -> None:
    if not path.is_file():
        raise RenderFailed(f"{name}: {path} is not there; correct `postRender` in addon.yaml")
    if not os.access(path, os.X_OK):
        raise RenderFailed(f"{name}: {path}: permission denied; make it executable: chmod +x {path}")
