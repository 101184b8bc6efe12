"""The level of a test file: the most that a test of it needs of a world. The docstring of each test file ends with it.

The order and its reasons are in CONTRIBUTING.md; `tests/selection.py` refuses tests that need more than their file
states, `tests/test_layout.py` files that state nothing.
"""

import re
from collections.abc import Set

LEVELS = ("pure", "FakeCluster", "FakeApi", "sandbox", "control plane", "image")
_NEEDED = {"image": "image", "cluster": "control plane", "story": "sandbox"}
_STATED = re.compile(r"\sLevel: ([^.]+)\.\s*\Z")


def stated_level(docstring: str | None) -> str:
    """The level that a file states, empty if it states none."""
    match = _STATED.search(docstring or "")
    return match[1] if match and match[1] in LEVELS else ""


def exceeds_level(docstring: str | None, markers: Set[str]) -> bool:
    """Does a test with these markers need more than its file states? A file that states nothing is another check's."""
    level = stated_level(docstring)
    needed = next((level for marker, level in _NEEDED.items() if marker in markers), "pure")
    return bool(level) and LEVELS.index(level) < LEVELS.index(needed)
