"""Rows of literals as one case: `each` instead of `pytest.mark.parametrize`.

A case costs milliseconds and a line of every report, whatever it asks. A table of literals is one question with many
rows, so it is one case: all rows run, and the failure lists each row that failed. Rows share the test's fixtures: a
test whose rows change what a fixture gives stays parametrized.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import pytest
from _pytest.mark.structures import ParameterSet

Test = TypeVar("Test", bound=Callable[..., Any])

FAILURES = (Exception, pytest.fail.Exception)
"""What fails a row: `pytest.raises` in which nothing is raised raises no Exception."""
LONGEST = 2000
"""Characters of one row's failure that are shown."""


def each(
    names: str | Sequence[str], rows: Iterable[Any] | Callable[[], Iterable[Any]], ids: Any = None
) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, but one case. Rows that take long to make are a function's: it is called when the
    test runs, not while each worker of each run collects."""
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    ids = ids if ids is None or callable(ids) else list(ids)
    given = (
        cast(Callable[[], Iterable[Any]], rows) if inspect.isfunction(rows) else list(cast(Iterable[Any], rows)).copy
    )

    def table() -> list[Row]:
        made = [_row(words, row) for row in given()]
        assert made, "a table has rows"
        return made

    def folded(test: Test) -> Test:
        signature = inspect.signature(test)
        rest = [parameter for parameter in signature.parameters.values() if parameter.name not in words]
        runs = _awaiting if inspect.iscoroutinefunction(test) else _calling
        runner: Any = runs(test, table, ids)
        functools.update_wrapper(runner, test)
        del runner.__wrapped__  # pytest would take its signature
        runner.__signature__ = signature.replace(parameters=rest)
        return cast(Test, runner)

    return folded


class Row(NamedTuple):
    """The values of a row, and its name if it brings one."""

    name: str | None
    values: dict[str, Any]


def _row(words: list[str], row: Any) -> Row:
    name = None
    if isinstance(row, ParameterSet):
        assert not row.marks, "a row with marks needs a case of its own"
        name, row = cast(str | None, row.id), row.values if len(words) > 1 else row.values[0]
    return Row(name, dict(zip(words, row, strict=True)) if len(words) > 1 else {words[0]: row})


def _calling(test: Callable[..., Any], table: Callable[[], list[Row]], ids: Any) -> Callable[..., None]:
    def run(**fixtures: Any) -> None:
        failed = []
        for number, row in enumerate(rows := table()):
            try:
                test(**fixtures, **row.values)
            except FAILURES as error:
                failed.append(_failure(_name(row, number, ids), error))
        _report(failed, len(rows))

    return run


def _awaiting(test: Callable[..., Any], table: Callable[[], list[Row]], ids: Any) -> Callable[..., Any]:
    async def run(**fixtures: Any) -> None:
        failed = []
        for number, row in enumerate(rows := table()):
            try:
                await test(**fixtures, **row.values)
            except FAILURES as error:
                failed.append(_failure(_name(row, number, ids), error))
        _report(failed, len(rows))

    return run


def _name(row: Row, number: int, ids: Any) -> str:
    """Only a row that failed needs one: to write those of all rows while tests are collected took 0.2 s of CPU."""
    if row.name is not None:
        return row.name
    if ids is None:
        return ", ".join(f"{key}={value!r}"[:200] for key, value in row.values.items())
    return "-".join(str(ids(value)) for value in row.values.values()) if callable(ids) else str(ids[number])


def _failure(name: str, error: BaseException) -> str:
    return f"{name}\n    {type(error).__name__}: {str(error)[:LONGEST]}"


def _report(failed: list[str], total: int) -> None:
    assert not failed, "\n".join([f"{len(failed)} of {total} rows failed:", *failed])
