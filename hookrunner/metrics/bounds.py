"""How much hooks may export, so that a slip (a label with a value of its own for each object and moment) costs neither
the memory of the program nor that of Prometheus. What is beyond is refused and told; what is there stays."""

from collections.abc import Iterable
from dataclasses import dataclass

NAME, VALUE = 200, 2000
"""Characters of a metric's or label's name, and of a label's value."""
LABELS = 64
"""Label names of one metric, over all its series: each series shows them all."""
_ORDINARY = 512
"""Characters of a sample's labels; for each so many more it counts for one more."""


class OutOfBounds(Exception):
    """It would be too much; the message says of what, and what to do."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Samples, the lines of the exposition, that one metric may have, and all together; a name that no series has any
    more counts for one."""

    metric: int = 10_000
    all: int = 100_000

    def check(self, name: str, samples: int, everything: int) -> None:
        """Raise OutOfBounds if a metric would have so many samples now, or all together so many."""
        mend = "drop labels whose values are many, or put the metrics into a group, which each run replaces"
        if samples > self.metric:
            raise OutOfBounds(f"{name} has the most samples that --hook-metric-samples allows ({self.metric}); {mend}")
        if everything > self.all:
            most = f"the most samples that --hook-metrics-samples allows ({self.all})"
            raise OutOfBounds(f"metrics of hooks have {most}; {mend}")


def check_name(name: str) -> None:
    """Raise OutOfBounds for a name that is too long. It is not cut: another one may begin alike."""
    if len(name) > NAME:
        raise OutOfBounds(f"a name may have {NAME} characters, this one has {len(name)}; use a shorter one")


def check_labels(labels: Iterable[tuple[str, str]]) -> None:
    """The same for the labels of a series."""
    for name, value in labels:
        check_name(name)
        if len(value) > VALUE:
            text = f"a label's value may have {VALUE} characters, that of '{name}' has {len(value)}"
            raise OutOfBounds(f"{text}; shorten it")


def check_group(group: str) -> None:
    """The same for the name of a group."""
    if len(group) > VALUE:
        raise OutOfBounds(f"a group's name may have {VALUE} characters, this one has {len(group)}; use a shorter one")


def check_count(name: str, labels: int) -> None:
    """Raise OutOfBounds if a metric would have so many label names."""
    if labels > LABELS:
        raise OutOfBounds(f"{name} would have more than {LABELS} labels; use fewer")


def weight(labels: Iterable[tuple[str, str]], lines: int) -> int:
    """For how many samples a series of so many lines counts."""
    return lines * (1 + sum(len(name) + len(value) for name, value in labels) // _ORDINARY)
