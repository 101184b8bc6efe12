"""Our counters, gauges and histograms: a family is a name and one value for each combination of label values.

Label values are positional, in the order in which the family declares them, so that a call site is one short line:
`runs.inc("a.sh", "pods", "main")`. Nothing here knows which metrics exist (`names` does).

At the end the rows with which `names` and `modules` declare metrics: on their class a row is documentation, on an
object of it the live family.
"""

import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, overload

from hookrunner.metrics import exposition

LabelValues: TypeAlias = tuple[str, ...]
Reading: TypeAlias = Callable[[], Iterable[tuple[LabelValues, float]]]
"""Called at each scrape: label values in declared order, and the value, of each series."""

DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The buckets of Go's client, which dashboards expect; those of prometheus_client differ."""


class Buckets:
    """The sorted upper bounds of a histogram, infinity left out, and how each is written."""

    __slots__ = ("bounds", "labels")

    def __init__(self, bounds: Iterable[float]) -> None:
        self.bounds = tuple(sorted({bound for bound in bounds if bound != float("inf")})) or DEFAULT_BUCKETS
        self.labels = tuple(f'le="{exposition.number(bound)}"' for bound in (*self.bounds, float("inf")))


class Distribution:
    """The observations of one histogram series."""

    __slots__ = ("_buckets", "_counts", "_total")

    def __init__(self, buckets: Buckets) -> None:
        self._buckets = buckets
        self._counts = [0] * len(buckets.labels)
        self._total = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """Count `value` in the first bucket whose bound is not below it."""
        self._counts[bisect.bisect_left(self._buckets.bounds, value)] += times
        self._total += value * times

    def lines(self, name: str, labels: str) -> Iterator[str]:
        """The samples of this series: cumulative buckets, sum, count."""
        start, below = f"{name}_bucket{{{labels}," if labels else f"{name}_bucket{{", 0
        for bound, count in zip(self._buckets.labels, self._counts, strict=True):
            below += count
            yield f"{start}{bound}}} {below}\n"
        yield exposition.line(f"{name}_sum", labels, self._total)
        yield exposition.line(f"{name}_count", labels, below)


S = TypeVar("S")
"""What a family keeps of each series."""


class Family(Generic[S]):
    """What all three have in common: a complete name, a sentence of help and label names. `optional` are labels after
    the others: a series goes without the last of them, as far as they are empty or it has no values for them."""

    kind: ClassVar[str]

    def __init__(self, name: str, text: str, labels: Sequence[str], optional: Sequence[str] = ()) -> None:
        self.name = name
        self._help = text
        self._labels = (*labels, *optional)
        self._optional = len(optional)
        self._series: dict[LabelValues, S] = {}

    def lines(self) -> Iterator[str]:
        """All series as they are now, in the order of their label values."""
        return exposition.family(self.name, self._help, self.kind, self._lines())

    def forget(self, label: str, value: str) -> None:
        """Drop all series with this value of a label, if the family has such a label: what they are about is gone."""
        if label in self._labels:
            index = self._labels.index(label)
            self._keep(lambda key: key[index] != value)

    def forget_prefix(self, values: LabelValues) -> None:
        """Drop all series whose label values begin with these."""
        self._keep(lambda key: key[: len(values)] != values)

    def _keep(self, stays: Callable[[LabelValues], bool]) -> None:
        for key in [key for key in self._series if not stays(key)]:
            del self._series[key]

    def _lines(self) -> Iterator[str]:
        raise NotImplementedError

    def _key(self, values: LabelValues) -> LabelValues:
        missing = len(self._labels) - len(values)
        if not 0 <= missing <= self._optional:
            raise ValueError(f"metric {self.name} takes the labels {self._labels}, got {values}")
        return values + ("",) * missing if missing else values

    def _label_text(self, values: LabelValues) -> str:
        pairs = list(zip(self._labels, values, strict=False))
        needed = len(pairs) - self._optional
        while len(pairs) > needed and not pairs[-1][1]:
            pairs.pop()
        return exposition.label_text(sorted(pairs))


class _Scalar(Family[float]):
    def __init__(self, name: str, text: str, labels: Sequence[str] = (), optional: Sequence[str] = ()) -> None:
        super().__init__(name, text, labels, optional)
        self._read: Reading = lambda: tuple(self._series.items())

    def from_function(self, read: Reading) -> None:
        """Read all values by `read` from now on, at each scrape."""
        self._read = read

    def _lines(self) -> Iterator[str]:
        for values, value in sorted({self._key(values): value for values, value in self._read()}.items()):
            yield exposition.line(self.name, self._label_text(values), value)


class Counter(_Scalar):
    """A number that only grows."""

    kind = "counter"
    _companions: "tuple[Counter, ...]" = ()

    def inc(self, *labels: str) -> None:
        """One more."""
        self.add(1.0, *labels)

    def add(self, amount: float, *labels: str) -> None:
        """Grow by `amount`; 0 makes the series exist."""
        key = self._key(labels)
        self._series[key] = self._series.get(key, 0.0) + amount
        for companion in self._companions:
            companion._series.setdefault(key, 0.0)

    @staticmethod
    def accompany(*counters: "Counter") -> None:
        """From now on a new series of one of them makes the same series of the others, at zero.

        Rates and ratios of `success` to `errors` are wrong for the first event of a series that appears at 1.
        """
        for counter in counters:
            counter._companions = counters


class Gauge(_Scalar):
    """A number that goes up and down."""

    kind = "gauge"

    def set(self, value: float, *labels: str) -> None:
        """The value from now on."""
        self._series[self._key(labels)] = value


class Histogram(Family[Distribution]):
    """How values spread over buckets."""

    kind = "histogram"

    def __init__(
        self,
        name: str,
        text: str,
        labels: Sequence[str],
        optional: Sequence[str] = (),
        buckets: Sequence[float] = DEFAULT_BUCKETS,
    ) -> None:
        super().__init__(name, text, labels, optional)
        self._buckets = Buckets(buckets)

    def observe(self, value: float, *labels: str, times: int = 1) -> None:
        """Count a value, or `times` equal ones."""
        key = self._key(labels)
        if key not in self._series:
            self._series[key] = Distribution(self._buckets)
        self._series[key].observe(value, times)

    def _lines(self) -> Iterator[str]:
        for values, distribution in sorted(self._series.items(), key=lambda item: item[0]):
            yield from distribution.lines(self.name, self._label_text(values))


F = TypeVar("F", bound=Family[Any])
MakeFamily: TypeAlias = Callable[[str, str, Sequence[str], Sequence[str]], F]

MODULE = ("module",)
"""The label that series of hooks of modules have. For global hooks it is empty; to Prometheus an empty label and
no label are the same. Series of plain hooks go without it."""

MODULE_AND_KIND = (*MODULE, "kind")
"""The same for series about a binding's objects, whose kind they say; empty of plain hooks, as in shell-operator."""


class Rows:
    """A class with rows in it. Their names begin with `prefix`, where they say `{}`."""

    prefix: str


class Row(Generic[F]):
    """A declared metric. On the class it is itself (for documentation), on an object the live family, which `make`
    makes of its complete name, its text and its labels. `optional` are labels after the others that not every series
    has."""

    def __init__(
        self, make: MakeFamily[F], name: str, labels: Sequence[str], text: str, optional: Sequence[str] = ()
    ) -> None:
        self._make = make
        self.name = name
        self.labels = tuple(labels)
        self.optional = tuple(optional)
        self.text = text

    def __set_name__(self, owner: type[Rows], attribute: str) -> None:
        self._attribute = attribute

    @overload
    def __get__(self, rows: None, owner: type[Rows]) -> "Row[F]": ...

    @overload
    def __get__(self, rows: Rows, owner: type[Rows]) -> F: ...

    def __get__(self, rows: Rows | None, owner: type[Rows]) -> "Row[F] | F":
        if rows is None:
            return self
        family = self._make(self.name.format(rows.prefix), self.text, self.labels, self.optional)
        # From now on the object's own attribute is found first and this method is not called again.
        rows.__dict__[self._attribute] = family
        return family


def counter(name: str, labels: Sequence[str], text: str, optional: Sequence[str] = ()) -> Row[Counter]:
    """The row of a counter."""
    return Row(Counter, name, labels, text, optional)


def gauge(name: str, labels: Sequence[str], text: str, optional: Sequence[str] = ()) -> Row[Gauge]:
    """The row of a gauge."""
    return Row(Gauge, name, labels, text, optional)


def histogram(
    name: str,
    labels: Sequence[str],
    text: str,
    buckets: Sequence[float] = DEFAULT_BUCKETS,
    optional: Sequence[str] = (),
) -> Row[Histogram]:
    """The row of a histogram."""
    return Row(partial(Histogram, buckets=buckets), name, labels, text, optional)


def rows_of(table: type[Rows]) -> list[Row[Family[Any]]]:
    """All rows, those of the classes that it is made of last, each in the order of its file."""
    return [row for part in table.__mro__ for row in vars(part).values() if isinstance(row, Row)]
