"""Commands about the program itself. Level: pure."""

import subprocess
import sys
from pathlib import Path

import pytest

from hookrunner import SHELL_FRAMEWORK, __version__
from tests.fakes.command_line import Command


@pytest.mark.parametrize("program", ["hookrunner", "shell-operator"])
def test_version_prints_the_programs_name_and_jq(program: str, command: Command) -> None:
    first, second = command("version", program=program).out.splitlines()
    assert first == f"{program} {__version__}"
    assert second.startswith("jqFilter implementation: ")


def test_shell_lib_prints_an_existing_file(command: Command) -> None:
    assert Path(command("shell-lib").out.strip()).is_file()


def test_shell_lib_takes_no_command_line() -> None:
    program = "import sys; from hookrunner.__main__ import main; main(); print('click' in sys.modules)"
    told = subprocess.check_output([sys.executable, "-c", program, "shell-lib"], text=True)
    assert told.splitlines() == [SHELL_FRAMEWORK, "False"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(shell: str, command: Command) -> None:
    ended = command("completion", shell)
    assert ended.code == 0
    assert "_HOOKRUNNER_COMPLETE" in ended.out


def test_debug_options_lists_flags_hidden_from_start_help(command: Command) -> None:
    listed = {line.split()[0] for line in command("debug-options").out.splitlines() if line.startswith("  --")}
    shown = command("start", "--help").out
    assert "--debug-unix-socket" in listed
    assert not any(flag in shown for flag in listed)
