"""Runs programs that print objects: kustomize, and the executables of `postRender`.

They are foreign code on foreign input, so each has a deadline, a bound of memory and of output, and a directory of its
own that is gone afterwards. Memory is bounded as private data (RLIMIT_DATA), since Go reserves far more addresses than
it uses; `sh` sets the bound, because a process must not be forked from this one (see `process/spawn.py`).

Each executable of `postRender` reads all objects as YAML and prints those to install. This is Helm's contract of
post-renderers, so those work here. https://helm.sh/docs/topics/advanced/#post-rendering
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from tempfile import TemporaryDirectory

from hookrunner import log, redaction, safe_files
from hookrunner.errors import BadManifest, HookFailed, RenderFailed
from hookrunner.manifests.large_texts import TEXTS
from hookrunner.manifests.sourced_object import read_objects, split_lists
from hookrunner.manifests.yaml_writer import dump
from hookrunner.model.sourced_objects import SourcedObject
from hookrunner.process.child import Command, Exit
from hookrunner.process.children import Children
from hookrunner.process.output import OutputStream
from hookrunner.process.pure_calls import call_by_size
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)

_LIMITED = 'ulimit -c 0; ulimit -d "$1" 2>/dev/null; shift; exec "$@"'
"""A hard limit below ours stays as it is; macOS bounds no data."""
_KLOG = re.compile(r'^[EFIW][0-9]{4} [0-9:.]+ +[0-9]+ \S+\] ("[^"]*" err=)?', re.MULTILINE)
_STDERR = 16 * 1024
_SHOWN = 2000


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """Bounds of one run: seconds, bytes of memory, bytes of output."""

    seconds: float = 60.0
    memory: int = 512 << 20
    output: int = 32 << 20


@dataclass(frozen=True, slots=True)
class Program:
    """A program to run: `name` is for messages, `argv[0]` an absolute path, `env` the whole environment."""

    name: str
    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)


class ProgramRunner:
    """Runs such programs; temporary files are in `scratch`, which must be private."""

    def __init__(self, children: Children, scratch: Path, limits: ProgramLimits = ProgramLimits()) -> None:
        self._children = children
        self._scratch = scratch
        self._limits = limits

    @contextmanager
    def directory(self) -> Iterator[Path]:
        """A new private directory, removed with all its files at the end of the `with`."""
        with TemporaryDirectory("", "hookrunner-manifests-", self._scratch, ignore_cleanup_errors=True) as path:
            yield Path(path)

    async def run(self, program: Program, text: bytes = b"", hidden: frozenset[str] = frozenset()) -> str:
        """Run the program with `text` as its standard input, and return what it printed.

        Raises RenderFailed if it cannot be started, ends badly, takes too long or prints too much; the words in
        `hidden` do not stand in the message.
        """
        with self.directory() as directory:
            (directory / "stdin").write_bytes(text)
            outcome = await self._execute(program, directory / "stdin")
        if not outcome.ok:
            reason = self._last_words(outcome, hidden)
            raise RenderFailed(f"{program.name}: {outcome}{': ' if reason else ''}{reason}")
        if len(outcome.stdout) > self._limits.output:  # the kept output says how much is missing
            raise RenderFailed(f"{program.name}: printed more than {self._limits.output >> 20} MiB")
        try:
            return outcome.stdout.decode()
        except UnicodeDecodeError:
            raise RenderFailed(f"{program.name}: printed bytes that are not UTF-8") from None

    async def _execute(self, program: Program, stdin: Path) -> Exit:
        limits = self._limits
        command = Command(
            argv=("/bin/sh", "-c", _LIMITED, "sh", str(limits.memory >> 10), *program.argv),
            cwd=program.cwd,
            env=program.env,
            timeout=limits.seconds,
            keep_stdout=limits.output,
            keep_stderr=_STDERR,
            stdin=stdin,
        )
        try:
            return await self._children.run(command, _StderrLog(program.name))
        except HookFailed as error:
            raise RenderFailed(f"{program.name}: {error}") from None

    @staticmethod
    def _last_words(outcome: Exit, hidden: frozenset[str]) -> str:
        """The end of what it wrote to stderr, on one line, without times and process ids. It is masked before it is
        cut, which could leave half a word."""
        line = " ".join(_KLOG.sub("", outcome.stderr.decode(errors="replace")).split())
        text = redaction.masked(line, hidden)
        return text if len(text) <= _SHOWN else f"… {text[-_SHOWN:]}"


class _StderrLog:
    """Logs what a program writes to stderr; what it prints is its result."""

    def __init__(self, program: str) -> None:
        self._program = program

    def line(self, stream: OutputStream, text: str) -> None:
        if stream is OutputStream.STDERR and text.strip():
            _log.debug("output of a program", program=self._program, line=text)

    def ended(self, stream: OutputStream) -> None:
        pass


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
        objects = await call_by_size(len(text), TEXTS, _printed_objects, name, text)
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
    if not safe_files.may_be_file(path):
        raise RenderFailed(f"{name}: {path} is not there; correct `postRender` in addon.yaml")
    if not os.access(path, os.X_OK):
        raise RenderFailed(f"{name}: {path}: permission denied; make it executable: chmod +x {path}")
