"""How many random examples a run tries: all at night, a part of them in CI, a few in `make quick`.

Profiles of hypothesis say so (`tests/conftest.py`), also to tests with loops of their own:
`@settings(max_examples=several(300))`, `for _ in range(several(2000))`. The number is that of the night.
"""

from hypothesis import settings

ALL = 100
"""Examples of a property without a number of its own, at night."""


def is_night() -> bool:
    """Does this run try all?"""
    return several(ALL) == ALL


def several(at_night: int) -> int:
    """The part of so many examples that this run tries, at least one."""
    return max(1, at_night * settings().max_examples // ALL)
