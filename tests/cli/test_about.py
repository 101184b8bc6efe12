"""Commands that tell about the program itself."""

from pathlib import Path

import pytest

from hookrunner import __version__
from tests.fakes.command_line import Command


@pytest.mark.parametrize("program", ["hookrunner", "shell-operator"])
def test_version_says_the_name_it_was_called_by_and_which_jq(program: str, command: Command) -> None:
    first, second = command("version", program=program).out.splitlines()
    assert first == f"{program} {__version__}"
    assert second.startswith("jqFilter implementation: ")


def test_shell_lib_prints_a_file_that_is_there(command: Command) -> None:
    assert Path(command("shell-lib").out.strip()).is_file()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(shell: str, command: Command) -> None:
    ended = command("completion", shell)
    assert ended.code == 0
    assert "_HOOKRUNNER_COMPLETE" in ended.out


def test_debug_options_are_those_that_the_help_of_start_leaves_out(command: Command) -> None:
    listed = {line.split()[0] for line in command("debug-options").out.splitlines() if line.startswith("  --")}
    shown = command("start", "--help").out
    assert "--debug-unix-socket" in listed
    assert not any(flag in shown for flag in listed)
