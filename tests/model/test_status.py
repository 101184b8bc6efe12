"""How messages of several lines are shown where there is one."""

import pytest

from hookrunner.model.status import one_line


@pytest.mark.parametrize(
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
