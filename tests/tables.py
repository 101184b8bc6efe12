"""Rows of literals as one case: `each` instead of `pytest.mark.parametrize`.

A case costs milliseconds and a line of every report, whatever it asks. A table of literals is one question with many
rows, so it is one case: all rows run, and the failure lists each row that failed. Rows share the test's fixtures: a
test whose rows change what a fixture gives stays parametrized.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from _pytest.mark.structures import ParameterSet

Test = TypeVar("Test", bound=Callable[..., Any])

LONGEST = 2000
"""Characters of one row's failure that are shown."""


def each(names: str | Sequence[str], rows: Iterable[Any], ids: Any = None) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, but one case."""
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    ids = ids if ids is None or callable(ids) else list(ids)
    table = [_row(words, row, ids, number) for number, row in enumerate(rows)]
    assert table, "a table has rows"

    def folded(test: Test) -> Test:
        signature = inspect.signature(test)
        rest = [parameter for parameter in signature.parameters.values() if parameter.name not in words]
        runner: Any = _awaiting(test, table) if inspect.iscoroutinefunction(test) else _calling(test, table)
        functools.update_wrapper(runner, test)
        del runner.__wrapped__  # pytest would take its signature
        runner.__signature__ = signature.replace(parameters=rest)
        return cast(Test, runner)

    return folded


def _row(words: list[str], row: Any, ids: Any, number: int) -> tuple[str, dict[str, Any]]:
    name = None
    if isinstance(row, ParameterSet):
        assert not row.marks, "a row with marks needs a case of its own"
        name, row = row.id, row.values if len(words) > 1 else row.values[0]
    values = dict(zip(words, row, strict=True)) if len(words) > 1 else {words[0]: row}
    if name is None and callable(ids):
        name = "-".join(str(ids(value)) for value in values.values())
    elif name is None and ids is not None:
        name = str(ids[number])
    return str(name) if name else ", ".join(f"{key}={value!r}"[:200] for key, value in values.items()), values


def _calling(test: Callable[..., Any], table: list[tuple[str, dict[str, Any]]]) -> Callable[..., None]:
    def run(**fixtures: Any) -> None:
        failed = []
        for name, values in table:
            try:
                test(**fixtures, **values)
            except Exception as error:
                failed.append(_failure(name, error))
        _report(failed, len(table))

    return run


def _awaiting(test: Callable[..., Any], table: list[tuple[str, dict[str, Any]]]) -> Callable[..., Any]:
    async def run(**fixtures: Any) -> None:
        failed = []
        for name, values in table:
            try:
                await test(**fixtures, **values)
            except Exception as error:
                failed.append(_failure(name, error))
        _report(failed, len(table))

    return run


def _failure(name: str, error: Exception) -> str:
    return f"{name}\n    {type(error).__name__}: {str(error)[:LONGEST]}"


def _report(failed: list[str], total: int) -> None:
    assert not failed, "\n".join([f"{len(failed)} of {total} rows failed:", *failed])
