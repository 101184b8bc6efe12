"""Where libjq 1.8 and the predecessor's gojq 0.12.17 differ, and which we are: the rows of docs/differences.md.

gojq's side was observed by running its command, and for what the command adds to the language (`input`, `debug`,
`stderr`, `input_filename`) it is shell-operator's documentation. `refused` is `BadFilter` when the hook is loaded,
`fails` a failed filter on that object; everything else is the result.

Level: pure.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from hookrunner.errors import BadFilter, FilterFailed
from hookrunner.jq.program import Jq
from tests.tables import each

SAME = [
    ("leaf_paths", 1, "refused"),
    ("toarray", 1, "refused"),
    ("ascii", 65, "refused"),
    ("   ", 1, "refused"),
    ("def f: .;", 1, "refused"),
    ("# only a comment", 1, "refused"),
    ("input", 1, "refused"),
    ("inputs", 1, "refused"),
    ('import "a" as a; .', 1, "refused"),
    ('include "a"; .', 1, "refused"),
    ("$__prog_args", 1, "refused"),
    ("def and: 1; and", 1, "refused"),
    ("nan", 1, "fails"),
    ("infinite", 1, "fails"),
    ('ltrimstr("a")', 1, "fails"),
    ("@foo", 1, "fails"),
    ('@foo "x"', 1, '"x"'),
    ('"x" * 0', 1, '""'),
    ("env", 1, "{}"),
    ("$ENV", 1, "{}"),
    ("empty", 1, "null"),
    ("1, 2", 1, "[1,2]"),
    ("halt", 1, "null"),
    ("1, halt, 2", 1, "1"),
    ('"x" | halt_error', 1, "fails"),
    (".a.b // 1", {"a": "x"}, "fails"),
    ("[.[]]", {"b": 1, "a": 2}, "[2,1]"),
    ("to_entries | map(.key)", {"b": 1, "a": 2}, '["a","b"]'),
    ("keys", {"b": 1, "a": 2}, '["a","b"]'),
    ("tojson", {"b": 1, "a": 2}, '"{\\"a\\":2,\\"b\\":1}"'),
    (".", 9007199254740993, "9007199254740993"),
    (". == 9007199254740992", 9007199254740993, "false"),
]

OURS = [
    ("stderr", 1, "1"),
    ('debug("m")', 1, "1"),
    ("debug", 1, "1"),
    ("keys_unsorted", {"b": 1, "a": 2}, '["a","b"]'),
    ("have_literal_numbers", 1, "true"),
    ("have_decnum", 1, "true"),
    ("input_filename", 1, "null"),
    ("input_line_number", 1, "fails"),
    ("get_search_list", 1, "[]"),
    ("$__loc__", 1, '{"file":"<top-level>","line":2}'),
    ('trimstr("a")', "aba", '"b"'),
    ('test("a(?=b)")', "ab", "true"),
    (r'test("(a)\\1")', "aa", "true"),
    ("{b: 1, a: 2} | [.[]]", 1, "[1,2]"),
    ("{b: 1, a: 2} | to_entries | map(.key)", 1, '["b","a"]'),
    (". + 0", 9007199254740993, "9007199254740992"),
    ("100000000000000000000", 1, "1e+20"),
    (".", 1.0, "1.0"),
    (". + 0", 1.0, "1"),
    ("tostring", 1.0, '"1.0"'),
    ('try ("x" | halt_error) catch "caught"', 1, '"caught"'),
    ("{(1): 2}", 1, "refused"),
    ('strptime("%H:%M") | .[2]', "10:20", "0"),
    ('"x" * 1000000000 | length', 1, "refused"),
]


@pytest.fixture
async def jq() -> AsyncIterator[Jq]:
    async with Jq(workers=1) as jq:
        yield jq


async def outcome(jq: Jq, program: str, obj: Any) -> str:
    try:
        [result] = await jq.apply(await jq.compile(program), [obj])
    except BadFilter:
        return "refused"
    return "fails" if isinstance(result, FilterFailed) else result.decode()


@pytest.mark.slow
@each(("program", "obj", "expected"), SAME)
async def test_where_the_predecessor_is_matched(jq: Jq, program: str, obj: Any, expected: str) -> None:
    assert await outcome(jq, program, obj) == expected


@pytest.mark.slow
@each(("program", "obj", "expected"), OURS)
async def test_where_hookrunner_differs_from_the_predecessor(jq: Jq, program: str, obj: Any, expected: str) -> None:
    assert await outcome(jq, program, obj) == expected
