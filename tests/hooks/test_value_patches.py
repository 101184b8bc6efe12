"""Patch files of values: what is read. Who may change what is tested in
tests/values/test_patches.py.

Level: pure."""

import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks.patches import MOST_VALUE_OPERATIONS
from hookrunner.hooks.patches import parse_values_patch as parse
from hookrunner.model.operations import ValuesOperation
from tests.tables import each

ADD = ValuesOperation("add", "/foo/a", 1)


@each(
    ("text", "operations"),
    [
        (b"", ()),
        (b" \n", ()),
        (b'{"op":"add","path":"/foo/a","value":1}', (ADD,)),
        (b'[{"op":"add","path":"/foo/a","value":1}]', (ADD,)),
        (
            b'{"op":"add","path":"/foo/a","value":1}\n[{"op":"remove","path":"/foo/b"}]',
            (ADD, ValuesOperation("remove", "/foo/b")),
        ),
        (b'\xef\xbb\xbf{"op":"add",\n"path":"/foo/a",\n"value":1}', (ADD,)),
        (b'{"Op":"add","PATH":"/foo/a","Value":1}', (ADD,)),
        (b'{"op":"add","path":"/foo/a"}', (ValuesOperation("add", "/foo/a", None),)),
        (b'1 "text" null {"op":"add","path":"/foo/a","value":1}', (ADD,)),
    ],
)
def test_a_stream_of_documents_is_read(text: bytes, operations: tuple[ValuesOperation, ...]) -> None:
    assert parse(text) == operations


@each(
    ("text", "message"),
    [
        (b'{"op":"replace","path":"/foo/a","value":1}', "unsupported patch operation 'replace'"),
        (b'{"op":"move","path":"/foo/a","from":"/foo/b"}', "unsupported patch operation 'move'"),
        (b'{"op":"copy","path":"/foo/a","from":"/foo/b"}', "unsupported patch operation 'copy'"),
        (b'{"path":"/foo/a"}', "unsupported patch operation for /foo/a: a map with the key path; known are add"),
        (b'{"op":"add","path":"","value":{}}', "begins with '/'"),
        (b'{"op":"add","path":"foo","value":{}}', "begins with '/'"),
        (b'{"op":"add","path":3,"value":{}}', "begins with '/'"),
        (b"[3]", "made of objects"),
        (b'{"op":"add","path":"/foo/a","value":1} {"op"', "is not JSON"),
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
