"""The rows of `tests/mutations.py` fit the code. Whether tests catch them is asked by `python -m tests.mutations`."""

from dataclasses import replace

import pytest

from tests import mutations


def test_each_row_fits_the_code() -> None:
    assert mutations.stale(mutations.ROOT) == []


def test_moved_code_is_an_error_that_names_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    row = mutations.MUTATIONS[0]
    moved = [replace(row, file="gone.py"), replace(row, old="no such text"), replace(row, tests="tests/gone.py")]
    monkeypatch.setattr(mutations, "MUTATIONS", moved)
    problems = mutations.stale(mutations.ROOT)
    assert [problem.partition(" (")[0] for problem in problems] == ["row 1", "row 2", "row 3"]
    assert "there is no such file" in problems[0]
    assert "is there 0 times, not once" in problems[1]
    assert "there is no tests/gone.py" in problems[2]
