"""How the flags of `start` reach the settings, and how it ends. What it runs: `tests/flows`. Level: sandbox."""

import json
import os
import ssl
from asyncio import Future, Protocol, get_running_loop
from asyncio.sslproto import SSLProtocol
from contextlib import ExitStack
from pathlib import Path

import click
import pytest

from hookrunner.cli.start import given, lean_imports, shrink_tls_buffers, start, with_run_directory, without_colors
from hookrunner.settings import load, options
from tests import launcher
from tests.controlplane.certs import make_server_certificate
from tests.fakes.command_line import Command
from tests.tables import each


@each(
    ("words", "flags"),
    [
        ([], {}),
        (["--hooks-dir", "a", "--listen-port=1"], {"hooks-dir": "a", "listen-port": "1"}),
        (["--prometheus-listen-port", "9650"], {"listen-port": "9650"}),
        (["--log-proxy-hook-json", "--log-level", "debug"], {"log-proxy-hook-json": "true", "log-level": "debug"}),
        (["--debug-keep-tmp-files=false"], {"debug-keep-tmp-files": "false"}),
        (["--prometheus-metrics-prefix", ""], {"prometheus-metrics-prefix": ""}),
        (
            ["--conversion-webhook-client-ca", "a.crt", "--conversion-webhook-client-ca", "b.crt"],
            {"conversion-webhook-client-ca": "a.crt,b.crt"},
        ),
    ],
)
def test_flags_reach_the_settings_as_text(words: list[str], flags: dict[str, str]) -> None:
    assert given(start.make_context("start", words)) == flags


def test_every_setting_is_a_flag() -> None:
    flags = {name for parameter in start.params for name in parameter.opts}
    assert {f"--{option.flag}" for option in options()} <= flags


@each(
    ("flags", "color", "type"),
    [
        ({}, None, "color"),
        ({}, False, "plain"),
        ({"log-type": "color"}, False, "color"),
    ],
)
def test_the_log_has_no_colors_if_none_are_wanted_and_no_flag_asks_for_them(
    flags: dict[str, str], color: bool | None, type: str
) -> None:
    loaded = load(flags, "", {"HOOKRUNNER_LOG_TYPE": "color"})
    with click.Context(start, color=color):
        assert without_colors(loaded, flags).log.type == type


@pytest.mark.parametrize("is_there", [True, False])
def test_no_event_waits_for_the_directory_of_runs_to_be_made(is_there: bool, tmp_path: Path) -> None:
    """If it cannot be made, each run says why; the start goes on."""
    parent = tmp_path if is_there else tmp_path / "file"
    (tmp_path / "file").touch()
    with ExitStack() as stack:
        hooks = with_run_directory(load({"tmp-dir": str(parent)}, "hookrunner", {}), stack).hooks
        assert hooks.run_directory
        assert hooks.run_directory.is_dir() == is_there
    assert not hooks.run_directory.exists()


def test_contexts_of_libraries_trust_no_server_and_ours_as_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = make_server_certificate(tmp_path, "web").certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with lean_imports():
        of_library = ssl.create_default_context()
    assert (len(of_library.get_ca_certs()), of_library.verify_mode) == (0, ssl.CERT_REQUIRED)
    assert ssl.create_default_context().cert_store_stats()["x509"] >= 1


async def test_tls_connections_read_into_a_small_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SSLProtocol, "max_size", SSLProtocol.max_size)
    shrink_tls_buffers()
    connection = SSLProtocol(
        get_running_loop(), Protocol(), ssl.create_default_context(), Future(), server_hostname="x"
    )
    assert len(connection.get_buffer(-1)) == 32 * 1024
    connection.connection_lost(None)


def refused(directory: Path, *flags: str) -> str:
    """What `start` says where there is no hooks directory. A process of its own, since it sets up logging; with a debug
    socket of its own, since another hookrunner may run here."""
    words = ["start", "--hooks-dir", "/nowhere", "--listen-port", "0", "--debug-unix-socket", f"{directory}/socket"]
    done = launcher.run([*words, *flags], cwd=directory, env=os.environ)
    assert done.returncode == 1
    return done.stderr


@pytest.mark.usefixtures("launcher")
def test_refused_start_ends_with_1_and_a_reason(tmp_path: Path) -> None:
    message = refused(tmp_path)
    assert message.startswith("Error: ")
    assert "/nowhere" in message
    assert "Traceback" not in message


@pytest.mark.usefixtures("launcher")
def test_dead_flags_are_warned_about_first(tmp_path: Path) -> None:
    assert refused(tmp_path, "--kube-server", "x").startswith(
        "Warning: --kube-server has no effect: name the server in a kubeconfig.\nError: "
    )


def test_sandbox_flags_without_sandbox_are_refused_before_the_cluster_is_touched(command: Command) -> None:
    ended = command("start", "--simulate", "--sandbox=false", "--seed", "docs/demo.yaml")
    assert ended.code == 2
    assert "--seed is for a sandbox only; without --sandbox hooks run on your cluster" in ended.err


def test_source_of_addons_that_cannot_be_used_is_refused_before_the_cluster_is_touched(command: Command) -> None:
    ended = command("start", "--addons-dir=addons", "--addon-source=ftp://example.com", "--kube-config=nowhere")
    assert ended.code == 2
    assert "--addon-source: 'ftp:' is no kind of source" in ended.err


@pytest.mark.usefixtures("launcher")
def test_standard_output_holds_log_records_and_nothing_else(tmp_path: Path) -> None:
    (hooks := tmp_path / "hooks").mkdir()
    (hooks / "not-executable.sh").touch()
    words = ["start", "--hooks-dir", str(hooks), "--listen-port", "0", "--kube-config", "/nowhere"]
    done = launcher.run([*words, "--debug-unix-socket", f"{tmp_path}/socket"], cwd=tmp_path, env=os.environ)
    assert [json.loads(line)["msg"] for line in done.stdout.splitlines()] == ["file is skipped"]
