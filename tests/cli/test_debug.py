"""The debug commands against an endpoint that records its requests. Its answers: `tests/web`. Level: pure."""

import time
from pathlib import Path

import pytest

from tests.fakes.command_line import Command, Endpoint


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("queue list", "/queue/list.text"),
        ("queue list -e", "/queue/list.text?showEmpty=true"),
        ("queue list --show-empty -o json", "/queue/list.json?showEmpty=true"),
        ("queue main -o yaml", "/queue/main.yaml"),
        ("hook list", "/hook/list.text"),
        ("hook snapshot 10-pods/watch.sh -o json", "/hook/10-pods/watch.sh/snapshots.json"),
        ("hook snapshot a?b", "/hook/a%3Fb/snapshots.text"),
        ("config list", "/config/list.text"),
        ("debug tasks", "/tasks"),
        ("raw queue/main.json", "/queue/main.json"),
        ("raw /discovery", "/discovery"),
    ],
)
def test_each_command_prints_what_its_path_answers(words: str, path: str, endpoint: Endpoint, command: Command) -> None:
    endpoint.answers[path] = "the answer"
    ended = command(*words.split(), "--debug-unix-socket", str(endpoint.socket))
    assert (ended.code, ended.out, ended.err) == (0, "the answer\n", "")
    assert endpoint.asked == [("GET", path, "")]


@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("log.level debug 10m", "name=log.level&value=debug&duration=10m"),
        ("log.level info", "name=log.level&value=info"),
    ],
)
def test_config_set_posts_a_form(words: str, form: str, endpoint: Endpoint, command: Command) -> None:
    endpoint.answers["/config/set"] = ""
    assert command("config", "set", *words.split(), "--debug-unix-socket", str(endpoint.socket)).code == 0
    assert endpoint.asked == [("POST", "/config/set", form)]


def test_an_http_error_goes_to_stderr_and_ends_with_1(endpoint: Endpoint, command: Command) -> None:
    ended = command("raw", "/nothing", "--debug-unix-socket", str(endpoint.socket))
    assert (ended.code, ended.out) == (1, "")
    assert "404 page not found (HTTP 404 for /nothing)" in ended.err


def test_error_without_a_running_hookrunner_names_the_sockets(tmp_path: Path, command: Command) -> None:
    ended = command("queue", "list", "--debug-unix-socket", str(tmp_path / "a.socket"))
    assert ended.code == 1
    assert f"{tmp_path / 'a.socket'}: No such file or directory" in ended.err
    assert "Is it running" in ended.err


def test_socket_of_a_dead_process_is_skipped(endpoint: Endpoint, command: Command) -> None:
    (stale := endpoint.socket.with_name("stale")).touch()
    endpoint.answers["/queue/main.text"] = "main"
    assert command("queue", "main", "--debug-unix-socket", f"{stale},{endpoint.socket}").out == "main\n"


@pytest.mark.parametrize("variable", ["HOOKRUNNER_DEBUG_UNIX_SOCKET", "DEBUG_UNIX_SOCKET"])
def test_variable_names_the_debug_socket(
    variable: str, endpoint: Endpoint, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(endpoint.socket))
    endpoint.answers["/hook/list.text"] = "[]"
    assert command("hook", "list").out == "[]\n"


def test_watch_redraws_until_ctrl_c(endpoint: Endpoint, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = []

    def interrupt_second_pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt_second_pause)
    endpoint.answers["/queue/list.text"] = "Summary:"
    ended = command("queue", "list", "-w", "-t", "2s", "--debug-unix-socket", str(endpoint.socket))
    assert (ended.code, pauses, len(endpoint.asked)) == (0, [2.0, 2.0], 2)
    assert ended.out.count("Summary:") == 2


@pytest.mark.parametrize("words", [["queue", "list", "-t", "soon"], ["queue", "list", "-o", "xml"], ["config", "set"]])
def test_bad_usage_ends_with_2(words: list[str], command: Command) -> None:
    assert command(*words).code == 2
