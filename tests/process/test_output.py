"""From a hook's output to the log, with the context that was bound where the run started; what is kept of a stream.

Reading is tested with real children in test_children.py.

Level: pure.
"""

import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookrunner import log
from hookrunner.process.child import Command, Patience
from hookrunner.process.children import Children
from hookrunner.process.output import HookLog, KeptOutput, OutputStream
from tests.tables import each


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Path]:
    """The file that JSON logs at level info go to."""
    handlers = list(logging.getLogger().handlers)
    with (tmp_path / "log").open("w") as stream:
        log.configure("json", "info", stream)
        yield tmp_path / "log"
        # Not a file that is closed by then: its descriptor may become anything, the standard output of a test too.
        log.configure("text", "info", sys.__stderr__ or sys.stderr)
    logging.captureWarnings(False)
    logging.getLogger().handlers = handlers


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            '{"foo":"baz"}',
            '{"level":"info","msg":"hook result","a":"b","hook_foo":"baz","output":"stdout","proxyJsonLog":true,',
        ),
        ("foobar", '{"level":"info","msg":"foobar","a":"b","output":"stdout",'),
    ],
)
def test_the_vectors_of_shell_operator(written: Path, text: str, line: str) -> None:
    with log.bound(a="b"):
        HookLog().line(OutputStream.STDOUT, text)
    assert written.read_text().partition('"time"')[0] == line


def test_the_streams_are_read_apart(written: Path) -> None:
    sink = HookLog()
    for stream, text in [
        (OutputStream.STDOUT, "{"),
        (OutputStream.STDERR, "oops"),
        (OutputStream.STDOUT, '"level": "warn"}'),
    ]:
        sink.line(stream, text)
    assert [(record["level"], record["output"]) for record in records(written)] == [
        ("info", "stderr"),
        ("warn", "stdout"),
    ]


def test_what_was_held_back_is_written_at_the_end(written: Path) -> None:
    sink = HookLog(multiline=True)
    sink.line(OutputStream.STDERR, "{ never closed")
    assert records(written) == []
    sink.ended(OutputStream.STDERR)
    assert records(written)[0]["msg"] == "{ never closed"


async def test_lines_carry_the_context_of_their_run(written: Path, tmp_path: Path) -> None:
    hook = tmp_path / "hook.sh"
    hook.write_text("#!/bin/sh\necho one; echo two >&2; printf three\n")
    hook.chmod(0o755)
    with log.bound(hook="hook.sh", queue="main"):
        await Children(Patience()).run(Command((str(hook),), tmp_path, {"PATH": os.defpath}), HookLog())
    assert {(record["msg"], record["output"]) for record in records(written)} == {
        ("one", "stdout"),
        ("two", "stderr"),
        ("three", "stdout"),
    }
    assert all((record["hook"], record["queue"]) == ("hook.sh", "main") for record in records(written))


@each("size", [1, 3, 100])
def test_a_stream_within_the_limit_is_kept_whole(size: int) -> None:
    kept, text = KeptOutput(200), bytes(range(100))
    for start in range(0, len(text), size):
        kept.add(text[start : start + size])
    assert kept.bytes() == text


@each("size", [1, 7, 1000])
def test_a_longer_stream_keeps_its_start_and_end(size: int) -> None:
    kept, text = KeptOutput(10), b"start" + b"." * 990 + b"enden"
    for start in range(0, len(text), size):
        kept.add(text[start : start + size])
    assert kept.bytes() == b"start\n... 990 bytes left out ...\nenden"


def test_a_limit_of_nothing_keeps_nothing() -> None:
    kept = KeptOutput(0)
    kept.add(b"text")
    assert kept.bytes() == b""
