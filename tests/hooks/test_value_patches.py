"""Patch files of values: what is read, as far as tests/contract/modules/value_patches.golden does not show it. Who may
change what is tested in tests/values/test_patches.py.

Level: pure."""

import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks.patches import MOST_VALUE_OPERATIONS
from hookrunner.hooks.patches import parse_values_patch as parse
from hookrunner.model.operations import ValuesOperation
from tests.tables import each


def test_white_space_and_a_byte_order_mark_are_no_documents() -> None:
    operation = ValuesOperation("add", "/foo/a", 1)
    assert parse(b" \n") == ()
    assert parse(b'\xef\xbb\xbf{"op":"add",\n"path":"/foo/a",\n"value":1}') == (operation,)


@each(
    ("text", "message"),
    [
        (b'{"op":"copy","path":"/foo/a","from":"/foo/b"}', "unsupported patch operation 'copy'"),
        (b'{"op":"add","path":3,"value":{}}', "begins with '/'"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "nested too deep"),
    ],
)
def test_an_unreadable_answer_fails_the_run(text: bytes, message: str) -> None:
    with pytest.raises(BadOutput, match=message):
        parse(text)


def test_a_patch_of_very_many_operations_is_refused() -> None:
    operation = b'{"op": "add", "path": "/a", "value": 1}\n'
    assert len(parse(operation * MOST_VALUE_OPERATIONS)) == MOST_VALUE_OPERATIONS
    with pytest.raises(BadOutput, match="5,001 operations, and 5,000 are permitted; add a map or a list as a whole"):
        parse(operation * (MOST_VALUE_OPERATIONS + 1))
