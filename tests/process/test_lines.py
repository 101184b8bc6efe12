"""Bytes to lines to records: the vectors of shell-operator, and what shell-operator loses there. Level: pure."""

import json

import pytest

from hookrunner.process.output import LINE_CAP, Lines, LogRecord, Records
from tests.tables import each


def records(*lines: str, multiline: bool = False) -> list[LogRecord]:
    reader = Records(multiline)
    return [record for line in lines for record in reader.feed(line)] + reader.flush()


def messages(*lines: str, multiline: bool = False) -> list[str]:
    return [record.message for record in records(*lines, multiline=multiline)]


def test_lines_are_put_together_across_chunks() -> None:
    lines = Lines()
    assert [lines.feed(chunk) for chunk in (b"o", b"ne\ntw", b"o\n\nthr")] == [[], ["one"], ["two", ""]]
    assert lines.flush() == ["thr"]
    assert lines.flush() == []


def test_a_character_cut_in_two_by_chunks_is_whole() -> None:
    lines = Lines()
    lines.feed("ü".encode()[:1])
    assert lines.feed("ü".encode()[1:] + b"\n\xff\n") == ["ü", "\ufffd"]


def test_a_line_without_end_is_kept_up_to_the_cap() -> None:
    lines = Lines()
    for _ in range(100):
        assert lines.feed(b"x" * 10_000) == []
    assert [len(line) for line in lines.feed(b"yyy\n" + b"z" * 2 * LINE_CAP + b"\nshort\n")] == [LINE_CAP, LINE_CAP, 5]


def test_plain_text_is_info() -> None:
    assert records("foobar") == [LogRecord("info", "foobar", {})]


def test_blank_lines_are_skipped_and_spaces_trimmed() -> None:
    assert messages("", "  ", "\t", "  a b \r") == ["a b"]


def test_json_object_becomes_a_proxied_record() -> None:
    assert records('{"foo":"baz"}') == [LogRecord("info", "hook result", {"hook_foo": "baz", "proxyJsonLog": True})]


@each(
    ("line", "level", "message", "fields"),
    [
        ('{"level":"error","msg":"m","time":"x","a":1}', "error", "m", {"hook_a": 1}),
        ('{"level":"WARNING","msg":"m"}', "warn", "m", {}),
        ('{"level":"loud","msg":"m"}', "info", "m", {"hook_level": "loud"}),
        ('{"level":30,"msg":{"a":1}}', "info", "hook result", {"hook_level": 30, "hook_msg": {"a": 1}}),
        ("{}", "info", "hook result", {}),
    ],
)
def test_level_and_message_are_the_hooks_own(line: str, level: str, message: str, fields: dict[str, object]) -> None:
    assert records(line) == [LogRecord(level, message, fields | {"proxyJsonLog": True})]


@each("line", ["[1]", "1", '"a"', "null", "{not json", "{'a': 1}", '{"a": 1} x', '{"a":' * 300 + "1" + "}" * 300])
def test_what_is_no_json_object_is_logged_as_it_is(line: str) -> None:
    assert messages(line) == [line]


def test_long_text_and_long_objects_are_truncated() -> None:
    text, long = records("x" * 10_001, json.dumps({"level": "warn", "a": "y" * 10_001}, separators=(",", ":")))
    assert text.message == "x" * 10_000 + ":truncated"
    assert long.level == "warn"
    assert long.fields["hook"] == {"truncated": '{"a":"' + "y" * 9_994 + ":truncated"}


PRETTY = ["{", '  "level": "error",', '  "msg": "}{\\"",', '  "a": {', '    "b": []', "  }", "}"]


@each("multiline", [False, True])
def test_pretty_printed_object_is_put_together(multiline: bool) -> None:
    before, whole, after = records("before", *PRETTY, "after", multiline=multiline)
    assert (before.message, after.message) == ("before", "after")
    assert whole == LogRecord("error", '}{"', {"hook_a": {"b": []}, "proxyJsonLog": True})


def test_object_that_goes_on_after_its_brace_needs_the_flag() -> None:
    lines = ('{"a":', "1}")
    assert messages(*lines) == list(lines)
    assert records(*lines, multiline=True)[0].fields["hook_a"] == 1


@pytest.mark.parametrize("multiline", [False, True])
@pytest.mark.parametrize(
    "lines",
    [
        ["{", "echo 1", "}", "after"],
        ["{", '"unfinished', "after"],
        ["{", "}}", "after"],
        ["{", "never closed", "after"],
        ["{", "x" * 60_000, *["y" * 9_000] * 30, "after"],
    ],
)
def test_braces_that_are_no_object_lose_nothing(lines: list[str], multiline: bool) -> None:
    shown = [line[:10_000] + ":truncated" * (len(line) > 10_000) for line in lines]
    assert messages(*lines, multiline=multiline) == shown


def test_json_lines_inside_braces_that_are_no_object_keep_their_level() -> None:
    levels = [record.level for record in records("{", '{"level":"error","msg":"bad"}', "text")]
    assert levels == ["info", "error", "info"]


def test_an_object_that_never_ends_is_not_waited_for_beyond_a_bound() -> None:
    reader = Records()
    reader.feed("{")
    assert any(reader.feed("a" * 10_000) for _ in range(30))
