"""Paths of fields as `patches` in addon.yaml has them, in the notation of Kubernetes' own messages.

spec.template.spec.containers[name=web].resources   the element of a list with this name
spec.template.spec.containers[*].resources          every element
metadata.annotations[prometheus.io/scrape]          a key that is more than letters, digits, - and _
"""

import re
from functools import lru_cache
from typing import TypeAlias

from kubetypes.light_dataclasses import dataclass

_ADVICE = (
    "write keys with points between them, such as spec.replicas; elements of lists as containers[name=web] or "
    "containers[*], other keys in brackets: annotations[example.com/key]"
)
_STEP = re.compile(r"(?:\A|\.)(?P<key>[\w-]+)|\.?\[(?P<inside>[^][]+)\]", re.ASCII)
_SELECTED = re.compile(r"(?P<key>\w+)=(?:\"(?P<quoted>[^\"]*)\"|(?P<plain>[^\"]*))", re.ASCII)


@dataclass(frozen=True, slots=True)
class Selector:
    """Which elements of a list: those whose field `key` has this value, as a text; with an empty key all."""

    key: str = ""
    value: str = ""

    def __str__(self) -> str:
        return f"[{self.key}={self.value}]" if self.key else "[*]"


FieldPath: TypeAlias = tuple[str | Selector, ...]
"""Keys of maps, and selectors of elements of lists."""


@lru_cache(maxsize=1024)
def parse_path(text: str) -> FieldPath:
    """The steps of a path. `[*]` at its end is left out: all elements are the list. Raises ValueError with advice."""
    steps: list[str | Selector] = []
    position = 0
    while match := _STEP.match(text, position):
        steps.append(match["key"] or _inside(match["inside"]))
        position = match.end()
    while steps and steps[-1] == Selector():
        steps.pop()
    if not steps or position < len(text) or isinstance(steps[0], Selector):
        raise ValueError(_ADVICE)
    return tuple(steps)


def _inside(text: str) -> str | Selector:
    """What stands in brackets."""
    if text == "*":
        return Selector()
    selected = _SELECTED.fullmatch(text)
    return Selector(selected["key"], selected["quoted"] or selected["plain"] or "") if selected else text
