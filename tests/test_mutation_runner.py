"""The rows of `unnoticed_mutations.json` fit the code; `mutation_runner.py` shows whether tests catch them.

Level: pure."""

from tests import mutation_runner as mutations


def test_each_row_fits_the_code() -> None:
    assert mutations.stale(mutations.ROOT, mutations.MUTATIONS) == []


def test_moved_code_is_an_error_that_names_the_row() -> None:
    row = mutations.MUTATIONS[0]
    moved = [row._replace(file="gone.py"), row._replace(old="no such text"), row._replace(tests="tests/gone.py")]
    problems = mutations.stale(mutations.ROOT, moved)
    assert [problem.partition(" (")[0] for problem in problems] == ["row 1", "row 2", "row 3"]
    assert "there is no such file" in problems[0]
    assert "is there 0 times, not once" in problems[1]
    assert "there is no tests/gone.py" in problems[2]
