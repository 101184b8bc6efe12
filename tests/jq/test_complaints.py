"""libjq's messages, before and after. Level: pure."""

import jq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.jq.complaints import of_failure, of_syntax
from tests.tables import each

HIDDEN = "hunter2"
UNREPEATED = "the program has raised an error, which is not repeated here: it may hold parts of the object"


def failure(program: str, obj: str) -> str:
    with pytest.raises(ValueError) as failed:
        jq.compile(program).input_text(obj).all()
    return of_failure(str(failed.value), program)


@each(
    ("program", "obj", "message"),
    [
        (".a.b", '{"a":"hunter2"}', 'Cannot index string with string ("b")'),
        (".a[.b]", '{"a":"x","b":"hunter2"}', "Cannot index string with string"),
        (".[]", '"hunter2 (x) and y"', "Cannot iterate over string"),
        (".a+.b", '{"a":"hunter2","b":{"x":"hunter2"}}', "string and object cannot be added"),
        ("fromjson", '"hunter2 x"', "Invalid numeric literal at line 1, column 8"),
        ("@base64d|fromjson", '"aHVudGVyMiB4"', "Invalid numeric literal at line 1, column 8"),
        ("tonumber", '"hunter2"', "string cannot be parsed as a number"),
        ("error", '"hunter2"', UNREPEATED),
        ("error", '{"a":"hunter2"}', UNREPEATED),
        ('error("hunter2")', "1", UNREPEATED),
        ("@csv", '[{"a":"hunter2"}]', "object is not valid in a csv row"),
        ('strptime("%Y")', '"hunter2"', "date … does not match format …"),
        ("to_entries", '"hunter2"', "string has no keys"),
        ("implode", '["hunter2"]', "string can't be imploded, unicode codepoint needs to be numeric"),
        ("sort", '"hunter2"', "string cannot be sorted, as it is not an array"),
        (". % 0", "54321", "number and number because the divisor is zero"),
        ("ltrimstr(1)|explode", '"hunter2"', "startswith() requires string inputs"),
        ("@base64d", '"hunter2!!!"', "string is not valid base64 data"),
        ('splits("a";"hunter2")', '"b"', UNREPEATED),
    ],
)
def test_a_failure_is_reported_without_values(program: str, obj: str, message: str) -> None:
    assert failure(program, obj) == message


@given(st.text())
def test_no_text_gets_through(text: str) -> None:
    message = of_failure(f'string ("{text}{HIDDEN}{text}") and {text}{HIDDEN} cannot be added', ".")
    assert HIDDEN not in message


@each(
    ("program", "message"),
    [
        ('.a = "hunter2" b', "syntax error, unexpected IDENT, expecting end of file at <top-level>, line 0, column 16"),
        ('"hunter2" | foo', "foo/0 is not defined at <top-level>, line 0, column 13"),
        ('"hunter2\\q"', "Invalid escape at line 1, column 4 at <top-level>, line 0, column 9"),
    ],
)
def test_a_program_that_does_not_compile_is_not_quoted(program: str, message: str) -> None:
    with pytest.raises(ValueError) as failed:
        jq.compile(program)
    assert of_syntax(str(failed.value)) == message
