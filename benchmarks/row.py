"""A row of a table of figures: what was done, the unit, and the target."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum


class Unit(Enum):
    """A unit's word, and how many of it make one of the sample's (seconds, bytes, runs a second, shares, ratios)."""

    MILLISECONDS = ("ms", 1e3)
    SECONDS = ("s", 1.0)
    MEGABYTES = ("MB", 1e-6)
    RATE = ("/s", 1.0)
    PERCENT = ("%", 1e2)
    TIMES = ("×", 1.0)
    COUNT = ("", 1.0)

    def shown(self, value: float) -> str:
        """Three digits that matter, with the unit."""
        word, factor = self.value
        number = value * factor
        if self is Unit.COUNT:
            return f"{number:.0f}"
        digits = 0 if abs(number) >= 100 else 1 if abs(number) >= 10 else 2
        return f"{number:.{digits}f} {word}"


@dataclass(frozen=True, slots=True)
class Target:
    """A target: at most `limit`, or `ratio` times the peer's figure; at least that if `more` is better."""

    limit: float | None = None
    ratio: float | None = None
    more: bool = False

    def met(self, ours: float, peers: float | None) -> bool | None:
        """None if there is nothing to be reached, or no peer to compare with."""
        if self.limit is not None:
            bound = self.limit
        elif self.ratio is not None and peers is not None:
            bound = self.ratio * peers
        else:
            return None
        return ours >= bound if self.more else ours <= bound


@dataclass(frozen=True, slots=True)
class Row:
    """One line: what was done, and the samples of one figure made into one number."""

    work: str
    figure: str
    unit: Unit
    target: Target = Target()
    summary: Callable[[Sequence[float]], float] = statistics.median
