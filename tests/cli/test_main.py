"""Exit codes, names and the price of the command line. Level: sandbox."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from hookrunner.cli import main
from hookrunner.errors import StartRefused
from tests.fakes.command_line import Command


def test_help_is_shown_without_a_command(command: Command) -> None:
    ended = command()
    assert ended.code == 0
    assert "hookrunner start --hooks-dir hooks" in ended.out
    assert all(name in ended.out for name in main.COMMANDS)


@pytest.mark.parametrize("name", main.COMMANDS)
def test_each_command_has_help_and_the_same_line_in_the_overview(name: str, command: Command) -> None:
    ended = command(name, "--help")
    assert ended.code == 0
    assert main.COMMANDS[name][1] in ended.out
    assert main.COMMANDS[name][1] in " ".join(command("--help").out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], "No such command 'nonsense'.\n"),
        (["sandbx"], "No such command 'sandbx'. Did you mean 'sandbox'?\n"),
        (["lint"], "Did you mean 'hook lint' or 'module lint' or 'addon lint'?\n"),
        (["hook", "tset"], "No such command 'tset'. Did you mean 'test'?\n"),
        (["start", "--hook-dir", "x"], "--hooks-dir"),
        (["start", "--listen-port", "http"], "--listen-port: 'http'"),
    ],
)
def test_bad_usage_ends_with_2_and_names_the_mistake(words: list[str], message: str, command: Command) -> None:
    ended = command(*words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_no_color_takes_no_value(command: Command) -> None:
    """It took the command's name."""
    assert command("--no-color", "version").code == 0


def test_bad_variable_is_bad_usage(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOKRUNNER_SHUTDOWN_GRACE", "long")
    ended = command("start")
    assert ended.code == 2
    assert "HOOKRUNNER_SHUTDOWN_GRACE: 'long'" in ended.err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (StartRefused("port 9115 is taken"), 1, "Error: port 9115 is taken\n"),
        (RuntimeError("oops"), 1, "unexpected RuntimeError: oops. This is a bug"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_every_end_has_its_exit_code(
    error: BaseException, code: int, message: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(main.Commands, "get_command", fail)
    ended = command("anything")
    assert ended.code == code
    assert message in ended.err


@pytest.mark.parametrize("program", ["shell-operator", "addon-operator"])
def test_start_is_the_default_command_under_a_predecessors_name(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr(main, "run", lambda arguments, name: called.append((arguments, name)))
    monkeypatch.setattr(sys, "argv", [f"/{program}"])
    with pytest.raises(SystemExit):
        main.main()
    assert called == [(["start"], program)]


def imported_by(*words: str, directory: Path | None = None) -> set[str]:
    """Return the modules that a command line loads when it is run in this directory."""
    code = "import sys; from hookrunner.cli.main import run; run(sys.argv[1:], 'hookrunner'); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, cwd=directory
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.usefixtures("launcher")
def test_help_loads_neither_the_settings_nor_the_application() -> None:
    assert not imported_by("--help") & {"hookrunner.settings", "hookrunner.app", "aiohttp", "orjson", "yaml"}


@pytest.mark.usefixtures("launcher")
def test_a_start_on_a_sandbox_loads_nothing_for_modules_webhooks_or_other_clusters(tmp_path: Path) -> None:
    """What makes a start slow is what it imports; seconds would only tell how busy the machine is."""
    hook = tmp_path / "hooks" / "h.sh"
    hook.parent.mkdir()
    hook.write_text('#!/bin/sh\n[ "$1" = --config ] && exec echo "{configVersion: v1, onStartup: 1}"\nkill $PPID\n')
    hook.chmod(0o755)
    paths = ("--hooks-dir", str(hook.parent), "--tmp-dir", str(tmp_path), "--debug-unix-socket", str(tmp_path / "s"))
    flags = ("--sandbox", "--listen-address", "127.0.0.1", "--listen-port", "0", *paths)
    needless = {
        "kubernetes",
        "cryptography",
        "helm_python",
        "cel_expr_python",
        "prometheus_client",
        "hookrunner.webhooks.serving",
    }
    for token, needed in (("none", set()), ("random", {"cryptography"})):  # a token takes a certificate
        loaded = imported_by(
            "start", *flags, "--sandbox-token", token, directory=tmp_path
        )  # without modules/ beside it
        assert "kubesandbox.server" in loaded
        assert loaded & needless == needed
        assert not {name for name in loaded if name.startswith(("hookrunner.convergence", "hookrunner.releases"))}


@pytest.mark.usefixtures("launcher")
def test_what_a_start_loads_before_it_looks_for_the_cluster_is_little() -> None:
    """A child looks for it; what is loaded before that child begins, is waited for twice."""
    assert not imported_by("start", "--help") & {"asyncio", "ssl", "orjson", "hookrunner.app"}


@pytest.mark.usefixtures("launcher")
def test_debug_commands_load_neither_aiohttp_nor_asyncio() -> None:
    loaded = imported_by("queue", "list")
    assert "hookrunner.cli.debug" in loaded
    assert not loaded & {"aiohttp", "asyncio", "orjson", "hookrunner.app"}


def leaves(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """All commands that do something, by what is typed."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found
        yield from leaves(found, f"{path} {name}")


def test_the_help_of_each_command_that_takes_something_has_an_example() -> None:
    found = dict(leaves(main.cli, "hookrunner"))
    assert len(found) > 30
    without = [path for path, one in found.items() if one.params and path not in (one.help or "")]
    assert without == []


def test_shell_completion_completes_commands() -> None:
    complete = ShellComplete(main.cli, {}, "hookrunner", "_HOOKRUNNER_COMPLETE")
    assert [item.value for item in complete.get_completions(["queue"], "m")] == ["main"]
