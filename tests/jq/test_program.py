"""The public face: results, errors and what a filter can harm: itself alone. Workers are real processes.

Level: pure."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from hookrunner.errors import BadFilter, FilterFailed
from hookrunner.jq.program import Jq
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from tests.tables import each

POD = {"metadata": {"name": "a", "labels": {"z": "1", "b": "2"}}, "spec": {"n": [1, 2]}}


@pytest.fixture
async def jq() -> AsyncIterator[Jq]:
    async with Jq(workers=1, deadline=0.1, memory=256 << 20) as jq:
        yield jq


async def result(jq: Jq, program: str, obj: Any = None) -> bytes:
    """The result, or the FilterFailed raised."""
    [outcome] = await jq.apply(await jq.compile(program), [obj])
    if isinstance(outcome, FilterFailed):
        raise outcome
    return outcome


@each(
    ("program", "expected"),
    [
        ("empty", b"null"),
        (".metadata.name", b'"a"'),
        (".spec.n[]", b"[1,2]"),
        (".metadata.labels", b'{"b":"2","z":"1"}'),
        (".metadata.labels[]", b'["2","1"]'),
        ("if . then empty else . end", b"null"),
        (".metadata.name + .metadata.name", b'"aa"'),
        (".spec.n[] + 1", b"[2,3]"),
        ('.metadata.labels + {"a": 1}', b'{"a":1,"b":"2","z":"1"}'),
        (".metadata.labels | to_entries[] | .key", b'["b","z"]'),
    ],
)
async def test_the_result_is_null_one_value_or_an_array(jq: Jq, program: str, expected: bytes) -> None:
    assert await result(jq, program, POD) == expected


@each("program", [".[0:1]", "def f: .[0:1]; f"])
async def test_an_array_that_is_the_only_output_stays_an_array(jq: Jq, program: str) -> None:
    assert await result(jq, program, [1, 2]) == b"[1]"


@each(
    ("program", "position"),
    [
        (".a[[", "line 1, column 4"),
        (".a |\n nosuch", "line 2, column 2"),
        ('import "x" as x; .', "unexpected import"),
        ("input", "one object"),
        ("[inputs]", "one object"),
        ("  \n", "blank"),
        (".a \0", "NUL"),
        ('"\ud800"', "surrogate"),
        ("def f: 1;", "program not given"),
    ],
)
async def test_a_bad_program_is_refused_with_its_place_and_reason(jq: Jq, program: str, position: str) -> None:
    with pytest.raises(BadFilter, match=position):
        await jq.compile(program)


@each("program", ["nan", "[1, infinite]", "{a: -infinite}", "[nan] | sort", "1, nan"])
async def test_nan_and_infinity_are_errors(jq: Jq, program: str) -> None:
    with pytest.raises(FilterFailed, match="NaN"):
        await result(jq, program)


@each("number", [2**53 + 1, 2**64 - 1, -(2**63), 1.5, 1e300, 0.1, 1e22, 123456789012345678])
async def test_numbers_that_are_only_read_are_exact(jq: Jq, number: float) -> None:
    assert await result(jq, ".a?", {"a": number}) == await result(jq, "def f: .a; f", {"a": number})


async def test_programs_do_not_load_the_users_definitions(
    jq: Jq, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".jq").write_text("def mine: 1;")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(BadFilter, match="mine/0 is not defined"):
        await jq.compile("mine")


@pytest.mark.slow
@each(
    ("program", "reason"),
    [
        ("def f: f; f", "within 0.1 s"),
        ("[range(1e9)]", "within 0.1 s|memory"),
        ("def f: 1 + f; f", "within 0.1 s|memory"),
        ('"x" | halt_error', "not repeated"),
        ("error({a: 1})", "a"),
        ("def f: [f]; f", "within 0.1 s|memory"),
        ("reduce range(5000) as $i (0; [.])", "."),
    ],
)
async def test_a_runaway_program_fails_and_the_next_one_runs(jq: Jq, program: str, reason: str) -> None:
    with pytest.raises(FilterFailed, match=reason):
        await result(jq, program)
    assert await result(jq, ". + 1", 1) == b"2"


@pytest.mark.slow
async def test_only_the_object_at_fault_fails(jq: Jq) -> None:
    filter = await jq.compile("if . == 3 then (def f: f; f) elif . == 5 then error else . end")
    outcomes = await jq.apply(filter, list(range(8)))
    failed = [position for position, outcome in enumerate(outcomes) if isinstance(outcome, FilterFailed)]
    assert failed == [3, 5]
    assert [outcome for outcome in outcomes if isinstance(outcome, bytes)] == [b"0", b"1", b"2", b"4", b"6", b"7"]


@pytest.mark.slow
async def test_a_worker_is_not_taken_for_an_orphan(jq: Jq) -> None:
    """As PID 1 we reap what is not ours: that took the exit status, and a hanging program looked like a crash."""
    Children(Patience()).adopt_orphans()
    for _ in range(3):
        with pytest.raises(FilterFailed, match=r"no result within 0\.1 s of CPU"):
            await result(jq, "def f: f; f")


@pytest.mark.slow
async def test_a_batch_that_costs_a_worker_again_and_again_is_given_up() -> None:
    async with Jq(workers=1, deadline=0.1) as jq:
        outcomes = await jq.apply(await jq.compile("def f: f; f"), [None] * 1000)
        assert len(outcomes) == 1000
        assert "not tried" in str(outcomes[-1])


async def test_an_object_that_json_cannot_carry_keeps_its_place(jq: Jq) -> None:
    outcomes = await jq.apply(await jq.compile(". + 1"), [1, {1}, 3])
    assert [outcomes[0], outcomes[2]] == [b"2", b"4"]
    assert isinstance(outcomes[1], FilterFailed)


@each("program", ["[[.]]", "reduce range(2) as $i (.; [.])"])
async def test_a_result_nested_too_deeply_is_an_error(jq: Jq, program: str) -> None:
    deep: Any = 0
    for _ in range(253):
        deep = [deep]
    with pytest.raises(FilterFailed):
        await result(jq, program, deep)


@each("program", ["debug", "stderr", 'debug("x")', "(1 | stderr) as $x | ."])
async def test_output_of_a_program_does_not_disturb_the_answers(jq: Jq, program: str) -> None:
    assert await result(jq, program, {"a": 1}) == b'{"a":1}'


async def test_all_outputs_can_be_read(jq: Jq) -> None:
    assert await jq.outputs(await jq.compile(".[]"), [1, None]) == [1, None]
    assert await jq.outputs(await jq.compile(".[] | . + 1"), [1, 2]) == [2, 3]
    with pytest.raises(FilterFailed, match="no"):
        await jq.outputs(await jq.compile('error("no")'), 1)


async def test_a_filter_that_needs_a_worker_is_not_applied_at_once(jq: Jq) -> None:
    with pytest.raises(ValueError, match="not a simple program"):
        (await jq.compile(". + 1")).apply_now(1)
