"""A fork of a prepared interpreter shows a script what a fresh interpreter shows it.

Level: pure.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from hookrunner.process.child import Command, ForkTerms, Patience
from hookrunner.process.children import Children
from tests.process.python_traps import TRAPS

_OWN_PROCESS = {
    "syntax error": "SyntaxError",
    "indentation": "IndentationError",
    "null byte": "null bytes",
    "bad encoding": "SyntaxError",
}
_BARE = " -S"
"""Without the packages of the environment, which load modules at the start and so hide what is not prepared."""
"""Scripts of which a prepared interpreter knows that they need a process of their own, and a word of the reason."""


class _Silence:
    def line(self, *_: object) -> None: ...

    def ended(self, *_: object) -> None: ...


def write_script(directory: Path, name: str, text: str, flags: str = "") -> Path:
    """Each script in a directory of its own; it was written a while ago."""
    path = directory / name.replace(" ", "-") / "hook.py"
    (path.parent / "own").mkdir(parents=True)
    path.write_text(f"#!{sys.executable}{flags}\n{text}", "latin-1")
    path.chmod(0o755)
    os.utime(path, (1e9, 1e9))
    (path.parent / "own/bisect.py").write_text("here = 'own'")
    if name == "module beside it":
        (path.parent / "colorsys.py").write_text("here = 'beside'")
    (path.parent / "here_mod.py").write_text("x = 1")
    return path


async def run(children: Children, path: Path, *, forked: bool) -> tuple[object, ...]:
    """Everything that can be seen of a run."""
    environment = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "1", "LANG": "C.UTF-8", "TZ": "Asia/Tokyo"}
    command = Command(
        (str(path), "argument"),
        path.parent,
        {**environment, "OF_THE_RUN": "value"},
        timeout=60.0,
        keep_stdout=1 << 20,
        fork=ForkTerms(frozenset({"OF_THE_RUN"})) if forked else None,
    )
    end = await children.run(command, _Silence())
    files = {file.name: file.read_bytes() for file in path.parent.glob("*") if file.is_file()}
    modes = {file.name: file.stat().st_mode for file in path.parent.glob("*") if file.name != "__pycache__"}
    texts = [re.sub("0x[0-9a-f]{6,}", "0x…", text.decode("latin-1")) for text in (end.stdout, end.stderr)]
    return *texts, end.code, end.signal, files, modes


Differences = tuple[dict[str, list[tuple[object, ...]]], dict[str, str]]


async def differences(directory: Path, traps: dict[str, str], flags: str = "") -> Differences:
    """The traps that show different things, and the reports of those that were not forked."""
    children = Children(Patience())
    different, own = {}, {}
    for name, text in traps.items():
        seen = []
        for forked in (False, True):
            path = write_script(directory, name, text, flags)
            seen.append(await run(children, path, forked=forked))
            shutil.rmtree(path.parent)
        if not (report := children.interpreters.reports[str(path)]).startswith("a fork of"):
            own[name] = report
        if seen[0] != seen[1]:
            different[name] = seen
            print(name, *seen, sep="\n    ")
    await children.stop(0.0)
    return different, own


@pytest.mark.slow
async def test_each_trap_has_the_same_bytes_files_and_exit(tmp_path: Path) -> None:
    different, own = await differences(tmp_path, TRAPS)
    assert list(different) == []
    assert {name: word for name, word in _OWN_PROCESS.items() if word not in own.get(name, "")} == {}
    assert set(own) == set(_OWN_PROCESS)


@pytest.mark.slow
async def test_a_bare_interpreter_shows_the_modules_of_a_script_and_no_others(tmp_path: Path) -> None:
    traps = {name: text for name, text in TRAPS.items() if "sys.modules" in text or name in ("inspect", "logging")}
    assert await differences(tmp_path, traps, _BARE) == ({}, {})
