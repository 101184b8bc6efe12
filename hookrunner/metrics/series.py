"""Counters, gauges and histograms of our own: a family is a name and one value for each combination of label values.

Label values are positional, in the order in which the family declares them, so that a call site is one short line:
`runs.inc("a.sh", "pods", "main")`. Nothing here knows which metrics exist (`names` does) or how they are printed.
"""

import bisect
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, TypeAlias

from prometheus_client.metrics_core import Metric

from hookrunner.metrics.exposition import number

LabelValues: TypeAlias = tuple[str, ...]
Reading: TypeAlias = Callable[[], Iterable[tuple[LabelValues, float]]]
"""Called at each scrape: label values in declared order, and the value, of each series."""

DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Those of Go's client, which dashboards know; prometheus_client's own differ."""


class Distribution:
    """The observations of one histogram series. `bounds` are sorted upper bounds without infinity."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count `value` in the first bucket whose bound is not below it."""
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.total += value

    def add_to(self, metric: Metric, labels: dict[str, str]) -> None:
        """Append the samples of this series: cumulative buckets, sum, count."""
        below = 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            below += count
            metric.add_sample(f"{metric.name}_bucket", {**labels, "le": number(bound)}, below)
        metric.add_sample(f"{metric.name}_sum", labels, self.total)
        metric.add_sample(f"{metric.name}_count", labels, below)


class Family:
    """What all three have in common: a complete name, a sentence of help and label names."""

    kind: ClassVar[str]

    def __init__(self, name: str, text: str, labels: Sequence[str]) -> None:
        self.name = name
        self._help = text
        self._labels = tuple(labels)

    def collect(self) -> Metric:
        """The present state of every series."""
        raise NotImplementedError

    def _key(self, values: LabelValues) -> LabelValues:
        if len(values) != len(self._labels):
            raise ValueError(f"metric {self.name} takes the labels {self._labels}, got {values}")
        return values

    def _metric(self) -> Metric:
        return Metric(self.name, self._help, self.kind)

    def _named(self, values: LabelValues) -> dict[str, str]:
        return dict(sorted(zip(self._labels, values, strict=True)))


class _Scalar(Family):
    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, text, labels)
        self._values: dict[LabelValues, float] = {}
        self._read: Reading = self._values.items

    def from_function(self, read: Reading) -> None:
        """Take all values from `read` from now on, when somebody looks."""
        self._read = read

    def collect(self) -> Metric:
        """See `Family.collect`."""
        metric = self._metric()
        for values, value in sorted(dict(self._read()).items()):
            metric.add_sample(self.name, self._named(values), value)
        return metric


class Counter(_Scalar):
    """A number that only grows."""

    kind = "counter"

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, text, labels)
        self._companions: tuple[Counter, ...] = ()

    def inc(self, *labels: str) -> None:
        """One more."""
        self.add(1.0, *labels)

    def add(self, amount: float, *labels: str) -> None:
        """Grow by `amount`; 0 makes the series exist."""
        key = self._key(labels)
        self._values[key] = self._values.get(key, 0.0) + amount
        for companion in self._companions:
            companion._values.setdefault(key, 0.0)

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
        self._values[self._key(labels)] = value


class Histogram(Family):
    """How values spread over buckets."""

    kind = "histogram"

    def __init__(self, name: str, text: str, labels: Sequence[str], buckets: Sequence[float] = DEFAULT_BUCKETS) -> None:
        super().__init__(name, text, labels)
        self._buckets = tuple(buckets)
        self._series: dict[LabelValues, Distribution] = {}

    def observe(self, value: float, *labels: str) -> None:
        """Count one value."""
        key = self._key(labels)
        if key not in self._series:
            self._series[key] = Distribution(self._buckets)
        self._series[key].observe(value)

    def collect(self) -> Metric:
        """See `Family.collect`."""
        metric = self._metric()
        for values, distribution in sorted(self._series.items(), key=lambda item: item[0]):
            distribution.add_to(metric, self._named(values))
        return metric
