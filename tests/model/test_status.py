"""Messages of several lines where one is shown, and long lists of names. Level: pure."""

from hookrunner.model.status import one_line, shortened, some
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
def test_joined_lines_keep_list_items_apart(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_of_a_long_text_the_beginning_and_the_end_are_shown() -> None:
    trace = "Traceback (most recent call last): " + "x" * 500 + " TypeError: 'que' is no keyword"
    short = shortened(trace, 100)
    assert len(short) <= 100
    assert short.startswith("Traceback (most recent")
    assert short.endswith("x TypeError: 'que' is no keyword")
    assert shortened(trace, len(trace)) == trace


@each(("count", "end"), [(0, ""), (1, "a0"), (20, "a19"), (21, "a19; and 1 more"), (99, "and 79 more")])
def test_message_names_the_first_objects_and_counts_the_rest(count: int, end: str) -> None:
    text = some([f"a{number}" for number in range(count)], "; ")
    assert text.endswith(end)
    assert len(text) < 200
