"""How messages of several lines are shown where there is one."""

from hookrunner.model.status import one_line, some
from tests.tables import each


@each(
    ("text", "shown"),
    [
        ("", ""),
        ("as it is", "as it is"),
        ("2 of 3 failed:\nConfigMap/a: forbidden\nleft: 1", "2 of 3 failed: ConfigMap/a: forbidden; left: 1"),
        ("hook 'h': \n  - exit status 1\n\n  - error output: usage\n", "hook 'h': exit status 1; error output: usage"),
        ("many   blanks,\n\tone line", "many blanks, one line"),
    ],
)
def test_lines_are_joined_so_that_lists_stay_lists(text: str, shown: str) -> None:
    assert one_line(text) == shown


@each(("count", "end"), [(0, ""), (1, "a0"), (20, "a19"), (21, "a19; and 1 more"), (99, "and 79 more")])
def test_of_many_names_the_first_are_told_and_how_many_more_there_are(count: int, end: str) -> None:
    told = some([f"a{number}" for number in range(count)], "; ")
    assert told.endswith(end)
    assert len(told) < 200
