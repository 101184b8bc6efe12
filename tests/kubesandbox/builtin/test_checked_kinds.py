"""docs/sandbox.md lists the kinds whose values are checked: the sandbox is closed, and the list is what it does.

Level: pure."""

import re
from pathlib import Path

from kubesandbox.builtin.validation import CHECKS

PAGE = Path(__file__).parents[3] / "docs" / "sandbox.md"


def test_the_page_lists_each_kind_that_is_checked() -> None:
    [text] = re.findall(r"\*\*Kinds whose values are checked\*\*: (.*?)\. Objects", PAGE.read_text(), re.DOTALL)
    listed = []
    for group, names in re.findall(r"in\s+(?:`([\w.]+)`|the core group)\s+((?:`\w+`,?\s*)+)", text):
        listed += [f"{name}.{group}".rstrip(".") for name in re.findall(r"`(\w+)`", names)]
    assert sorted(listed) == sorted(CHECKS)
