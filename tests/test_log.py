"""Records in all forms, levels, context, foreign loggers, and streams that are slow, closed or full. Level: pure."""

import asyncio
import io
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hookrunner import log
from hookrunner.log_forms import LogType

Logs = Callable[[], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Leave logging as it was for the tests that come after."""
    yield
    logging.captureWarnings(False)
    logging.getLogger().handlers = [h for h in logging.getLogger().handlers if type(h).__module__ != log.__name__]
    log.configure("text", "info", sys.__stderr__ or sys.stderr)
    logging.captureWarnings(False)


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Logs]:
    """Configures JSON at level info into a file, and reads what has been written to it."""
    path = tmp_path / "log"
    with path.open("w") as stream:
        log.configure("json", "info", stream)
        yield lambda: [json.loads(line) for line in path.read_text().splitlines()]


def printed(kind: LogType, tmp_path: Path, msg: str, **fields: object) -> str:
    with (tmp_path / "log").open("w") as stream:
        log.configure(kind, "info", stream)
        log.get("a.b").warn(msg, **fields)
    return (tmp_path / "log").read_text()


def test_json_has_the_keys_of_the_reference_in_their_order(tmp_path: Path) -> None:
    line = printed("json", tmp_path, "foobar", output="stdout", a="b")
    time = re.compile(r'"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"}\n')
    assert time.sub("", line) == '{"level":"warn","logger":"a.b","msg":"foobar","a":"b","output":"stdout",'
    assert time.search(line)


def test_no_logger_no_key(logs: Logs) -> None:
    log.get().info("foobar")
    assert list(logs()[0]) == ["level", "msg", "time"]


def test_source_is_shown_while_debugging_but_never_on_errors(logs: Logs) -> None:
    log.set_level("debug")
    log.get().info("a", z=1)
    log.get().error("b")
    info, error = logs()
    assert list(info) == ["level", "msg", "source", "z", "time"]
    assert re.fullmatch(r"test_log\.py:\d+", info["source"])
    assert "source" not in error


def test_exception_has_a_stack_trace_before_the_time(logs: Logs) -> None:
    try:
        raise KeyError("x")
    except KeyError:
        log.get().exception("failed", z=1)
    assert list(logs()[0]) == ["level", "msg", "z", "stacktrace", "time"]
    assert logs()[0]["stacktrace"][-1] == "KeyError: 'x'"


def test_level_can_be_changed_at_any_time(logs: Logs) -> None:
    for level in log.LEVELS:
        log.set_level(level)
        for word in log.LEVELS:
            log.get().log(word, level)
    counts = {level: sum(record["msg"] == level for record in logs()) for level in log.LEVELS}
    assert list(counts.values()) == [6, 5, 4, 3, 2, 1]
    assert log.current_level() == "fatal"


def test_unknown_words_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown log level 'loud': use one of trace, debug"):
        log.set_level("loud")
    with pytest.raises(ValueError, match="unknown log type 'xml': use one of json, text, color, plain"):
        log.configure("xml", "info", sys.stderr)  # type: ignore[arg-type]


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"a": [1, None, 2.5]}, {"a": [1, None, 2.5]}),
        (ValueError("bad"), "bad"),
        (ValueError(), "ValueError()"),
        (Path("/x"), "/x"),
        ({1}, "{1}"),
        (b"\xff", "b'\\xff'"),
        (1 << 70, str(1 << 70)),
        ("\udc80", "\\udc80"),
        ({"a": "\udc80"}, "{'a': '\\udc80'}"),
        ({(1,): 2}, "{(1,): 2}"),
        (Broken(), "<Broken whose repr failed: RuntimeError>"),
        ([Broken()], ["<Broken whose repr failed: RuntimeError>"]),
    ],
)
@pytest.mark.parametrize("kind", ["json", "text", "color", "plain"])
def test_any_value_can_be_shown(tmp_path: Path, kind: LogType, value: object, shown: object) -> None:
    line = printed(kind, tmp_path, "m", value=value, other=1)
    if kind == "json":
        assert json.loads(line)["value"] == shown
    assert line.count("\n") == 1


def test_a_value_that_contains_itself_is_shown(logs: Logs) -> None:
    loop: list[object] = []
    loop.append(loop)
    log.get().info("m", loop=loop, a=1)
    assert logs()[0] | {"time": ""} == {"level": "info", "msg": "m", "a": 1, "loop": "[[...]]", "time": ""}


def test_fields_cannot_hide_the_keys_of_a_record(logs: Logs) -> None:
    log.get().info("m", level="x", msg="y", event="z")
    assert logs()[0] | {"time": ""} == {
        "level": "info",
        "msg": "m",
        "event": "z",
        "level_": "x",
        "msg_": "y",
        "time": "",
    }


def test_text_is_one_line_of_logfmt(tmp_path: Path) -> None:
    line = printed("text", tmp_path, 'two "words"\nhere', yes=True, nothing=None, **{"hook_a b": {"x": 1}})
    rest = r' level=warn logger=a.b msg="two \"words\"\nhere" hook_a_b="{\"x\":1}" nothing=null yes=true' + "\n"
    assert line.partition(" ")[2] == rest[1:]
    assert line.startswith("time=2")


@pytest.mark.parametrize("kind", ["text", "color", "plain"])
def test_logged_text_cannot_send_commands_to_a_terminal(tmp_path: Path, kind: LogType) -> None:
    """Logged text may come from an attacker: `ESC ]0;x BEL` sets the title of a window, others do worse."""
    shown = printed(kind, tmp_path, "m", path="/\x1b]0;x\x07\r\x9b31m\u2028z")
    assert r"/\x1b]0;x\x07\r\x9b31m\u2028z" in shown


@pytest.mark.parametrize(
    ("fields", "subject", "rest"),
    [
        ({"hook": "a.sh", "binding": "b", "event": "schedule", "queue": "main", "task": "HookRun"}, "a.sh", "done"),
        ({"hook": "a.sh", "output": "stdout", "proxyJsonLog": True}, "a.sh", "done"),
        ({"hook": "a.sh", "output": "stderr", "queue": "slow"}, "a.sh", "done  output=stderr  queue=slow"),
        ({"hook": "a.sh", "module": "web", "unit": "web"}, "web/a.sh", "done"),
        ({"instance": "dns.x.y", "unit": "dns.x.y", "by": ""}, "dns.x.y", "done"),
        ({"node": "n1", "seconds": 1.5}, "n1", "done  seconds=1.5"),
        ({"addons": ["b", "a"], "path": "a b"}, "", 'done  addons="b, a"  path="a b"'),
        ({"reason": "no jq", "error": ValueError("x"), "hint": "do y"}, "", "done: no jq: x: do y"),
    ],
)
def test_eyes_see_a_column_for_the_subject_and_then_only_what_is_unusual(
    fields: dict[str, Any], subject: str, rest: str
) -> None:
    time, line = seen("info", **fields)
    assert re.fullmatch(r"\d\d:\d\d:\d\d", time)
    assert line == f"{subject:20}  {rest}"


def test_eyes_see_more_of_what_went_wrong() -> None:
    context = {"hook": "a.sh", "binding": "b", "event": "schedule", "task": "HookRun", "error": ValueError("x")}
    assert seen("error", **context)[1].split("  ", 1)[1].strip() == "error: done: x  binding=b  event=schedule"


def test_eyes_see_everything_while_debugging() -> None:
    log.set_level("debug")
    assert "  logger=a.b  source=test_log.py:" in seen("debug", queue="main")[1]


def test_further_lines_are_indented_and_long_names_widen_the_column() -> None:
    stream = io.StringIO()
    log.configure("plain", "info", stream)
    log.get().error("bad\nworse", hook="namespace-defaults.sh", exc_info=ValueError("x"))
    log.get().info("done", hook="a.sh")
    first, *more, last = [line[10:] for line in stream.getvalue().splitlines()]
    assert first == "namespace-defaults.sh  error: bad"
    assert last == f"{'a.sh':21}  done"
    assert len(more) == 2


def test_colors_are_around_the_same_words() -> None:
    plain, painted = io.StringIO(), io.StringIO()
    for kind, stream in (("plain", plain), ("color", painted)):
        log.configure(kind, "info", stream)  # type: ignore[arg-type]
        log.get("a.b").warn("done", hook="a.sh", object="x")
    assert painted.getvalue() != plain.getvalue()
    assert re.sub(r"\x1b\[\d*m", "", painted.getvalue())[8:] == plain.getvalue()[8:]


def seen(level: str, **fields: object) -> tuple[str, str]:
    """The time of a record in the form `plain`, and the rest of its line."""
    stream = io.StringIO()
    log.configure("plain", log.current_level(), stream)
    log.get("a.b").log(level, "done", **fields)
    time, _, rest = stream.getvalue().rstrip("\n").partition("  ")
    return time, rest


def test_inner_fields_take_the_place_of_outer_ones_until_their_end() -> None:
    with log.bound(hook="a", queue="main"):
        with log.bound(hook="b"):
            inner = dict(log.bound_fields())
        assert (inner, dict(log.bound_fields())) == ({"hook": "b", "queue": "main"}, {"hook": "a", "queue": "main"})
    assert dict(log.bound_fields()) == {}


async def test_context_is_bound_per_task(logs: Logs) -> None:
    async def work(hook: str) -> None:
        with log.bound(hook=hook, event="schedule"):
            await asyncio.sleep(0)
            log.get().info("in", queue="main")
        log.get().info("out")

    await asyncio.gather(work("a"), work("b"))
    assert [record.get("hook") for record in logs()] == ["a", None, "b", None]
    assert list(logs()[0]) == ["level", "msg", "event", "hook", "queue", "time"]


def test_python_logging_and_warnings_come_out_in_the_same_form(logs: Logs) -> None:
    logging.getLogger("aiohttp.client").warning("from %s", "there")
    logging.getLogger("asyncio").error("failed", exc_info=ValueError("x"))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    first, second, third = logs()
    assert (first["level"], first["logger"], first["msg"]) == ("warn", "aiohttp.client", "from there")
    assert second["stacktrace"] == ["ValueError: x"]
    assert (third["logger"], "DeprecationWarning: old" in third["msg"]) == ("py.warnings", True)


def test_a_slow_reader_delays_no_writer_and_gets_every_line() -> None:
    read, write = os.pipe()
    with open(write, "w") as stream:
        log.configure("json", "info", stream)
        for number in range(2000):
            log.get().info("x" * 200, number=number)
        with open(read) as reader:
            assert [json.loads(reader.readline())["number"] for _ in range(2000)] == list(range(2000))
        log.flush(5)


def test_lines_that_a_stuck_reader_misses_are_counted() -> None:
    read, write = os.pipe()
    with open(write, "w") as stream, open(read) as reader:
        log.configure("json", "info", stream)
        for _ in range(600):
            log.get().info("x" * 10_000)
        taken = lost = 0
        for number in range(600):  # "again" comes when there is room, and a gap says how many did not come
            if number == 400:
                log.get().info("again")
            if taken + lost == 601:
                break
            record = json.loads(reader.readline())
            taken, lost = (taken, lost + record["lost"]) if "lost" in record else (taken + 1, lost)
        assert taken + lost == 601
        assert lost > 100


@pytest.mark.parametrize("path", ["/dev/full", "pipe"])
def test_a_full_disk_or_a_closed_pipe_stops_no_writer(path: str) -> None:
    read, write = os.pipe()
    os.close(read)
    stream = open(write, "w") if path == "pipe" else open(path, "w")  # noqa: SIM115
    with stream:
        log.configure("json", "info", stream)
        for _ in range(3):
            log.get().info("lost")
    log.get().info("the stream is closed")


def test_lines_lost_on_a_full_disk_are_counted_when_it_has_room(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as stream, open("/dev/full", "w") as full:
        log.configure("json", "info", stream)
        room = os.dup(stream.fileno())
        os.dup2(full.fileno(), stream.fileno())
        log.get().info("lost")
        os.dup2(room, stream.fileno())
        os.close(room)
        log.get().info("kept")
        log.get().info("more")
    kept, gap, more = map(json.loads, (tmp_path / "log").read_text().splitlines())
    assert (kept["msg"], gap["lost"], more["msg"]) == ("kept", 1, "more")


@pytest.mark.slow
def test_before_configure_it_writes_text_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    script = "from hookrunner import log; log.get('x').info('m', a=1); log.get().debug('no')"
    os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", script])
    captured = capfd.readouterr()
    assert captured.out == ""
    assert re.fullmatch(r"time=\S+ level=info logger=x msg=m a=1\n", captured.err)


TRACEBACK = ["Traceback (most recent call last):", '  File "a.py", line 1, in <module>', "KeyError: 'x'"]


def test_a_traceback_that_a_hook_has_printed_is_shown_once() -> None:
    stream = io.StringIO()
    log.configure("plain", "info", stream)
    for line in TRACEBACK:
        log.get().info(line, hook="a.py", output="stderr")
    for about in ("a.py", "b.py"):
        log.get().error("hook failed", hook=about, error=f"{about} FAILED: " + "\n".join(TRACEBACK))
    *_, ours, other, _, last = stream.getvalue().splitlines()
    assert ours.endswith("hook failed: a.py FAILED: KeyError: 'x' (its output is above)")
    assert other.endswith("hook failed: b.py FAILED: Traceback (most recent call last):")
    assert last == "    KeyError: 'x'"
