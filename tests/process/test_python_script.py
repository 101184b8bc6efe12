"""Which Python executes a command, from the first line of its file.

Level: pure.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

from hookrunner.process.child import Command
from hookrunner.process.python_script import NoPython, NotForked, find_script

PYTHON = sys.executable


def command(directory: Path, first: str, *arguments: str, **environment: str) -> Command:
    hook = directory / "hook"
    hook.write_text(f"{first}\nprint(1)\n")
    hook.chmod(0o755)
    found = {"PATH": os.path.dirname(PYTHON), **environment}
    return Command((str(hook), *arguments), directory, found)


@pytest.mark.parametrize(
    ("first", "interpreter", "name"),
    [
        (f"#!{PYTHON}", (PYTHON,), "hook"),
        (f"#! {PYTHON} -uB ", (PYTHON, "-uB"), "hook"),
        ("#!/usr/bin/env python3", (shutil.which("python3", path=os.path.dirname(PYTHON)),), ""),
    ],
)
def test_the_first_line_names_the_interpreter(
    tmp_path: Path, first: str, interpreter: tuple[str, ...], name: str
) -> None:
    script = find_script(command(tmp_path, first, "--config"))
    expected = (interpreter, str(tmp_path / "hook"), ("--config",), name)
    assert (script.interpreter, script.path, script.arguments, script.name) == expected


def test_an_interpreter_before_the_file_is_that_of_a_module(tmp_path: Path) -> None:
    script = find_script(Command((PYTHON, "/a/hook.py", "--config"), tmp_path, {}))
    assert (script.interpreter, script.path, script.arguments) == ((PYTHON,), "/a/hook.py", ("--config",))


@pytest.mark.parametrize(
    "first",
    [
        "#!/bin/sh",
        "#!/usr/bin/env bash",
        "",
        "#!",
        "\x7fELF",
        "#!/usr/bin/env -S python3 -u",
        f"#!{PYTHON}\r",
        "#!/usr/bin/env python3\r",
    ],
)
def test_anything_else_is_no_python_script(tmp_path: Path, first: str) -> None:
    with pytest.raises(NoPython):
        find_script(command(tmp_path, first))


@pytest.mark.parametrize(
    ("first", "environment", "reason"),
    [
        (f"#!{PYTHON} -i", {}, "other flags"),
        (f"#!{PYTHON} -u -B", {}, "other flags"),
        ("#!/no/such/python3", {}, "its interpreter /no/such/python3 cannot be read: No such file"),
        ("#!/usr/bin/env python3.99", {}, "no python3.99 is found in PATH"),
        (f"#!{PYTHON}", {"PYTHONVERBOSE": "1"}, "PYTHONVERBOSE is set"),
        (f"#!{PYTHON}", {"PYTHONPATH": "/a:b"}, "PYTHONPATH has a relative path"),
    ],
)
def test_what_cannot_be_prepared_has_a_reason(
    tmp_path: Path, first: str, environment: dict[str, str], reason: str
) -> None:
    with pytest.raises(NotForked, match=reason):
        find_script(command(tmp_path, first, **environment))


def test_a_script_that_nobody_may_execute_is_left_to_the_kernel(tmp_path: Path) -> None:
    hook = command(tmp_path, f"#!{PYTHON}")
    (tmp_path / "hook").chmod(0o644)
    with pytest.raises(NotForked, match="not executable"):
        find_script(hook)
    with pytest.raises(NotForked, match="cannot be read"):
        find_script(Command((str(tmp_path / "missing"),), tmp_path, {}))


def test_a_script_that_we_may_not_read_is_left_to_the_kernel(tmp_path: Path) -> None:
    """Its Python says then that it cannot open the file."""
    hook = command(tmp_path, f"#!{PYTHON}")
    (tmp_path / "hook").chmod(0o111)
    us = os.geteuid()
    os.seteuid(us or 65534)  # root may read everything
    try:
        with pytest.raises(NotForked, match="it cannot be read: Permission denied"):
            find_script(hook)
    finally:
        os.seteuid(us)


def test_a_script_that_finds_an_interpreter_is_none(tmp_path: Path) -> None:
    (tmp_path / "python3").write_text("#!/bin/sh")
    (tmp_path / "python3").chmod(0o755)
    with pytest.raises(NotForked, match="no program, but a script"):
        find_script(command(tmp_path, "#!/usr/bin/env python3", PATH=str(tmp_path)))


@pytest.mark.parametrize("place", ["script", "interpreter"])
def test_a_named_pipe_is_not_opened(tmp_path: Path, place: str) -> None:
    pipe = tmp_path / "python3"
    os.mkfifo(pipe)
    asked = command(tmp_path, f"#!{pipe}") if place == "interpreter" else Command((str(pipe),), tmp_path, {})
    with pytest.raises(NotForked, match="no regular file"):
        find_script(asked)
