"""How a metric is declared: one row, which is documentation on its class and the live family on an object of it."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, overload

from hookrunner.metrics.series import DEFAULT_BUCKETS, Counter, Family, Gauge, Histogram

F = TypeVar("F", bound=Family)

MODULE = ("module",)
"""The label that series of hooks of modules have. For global hooks it is empty; to Prometheus an empty label and
no label are the same. Series of plain hooks go without it."""

MODULE_AND_KIND = (*MODULE, "kind")
"""The same for series about a binding's objects, whose kind they say; empty of plain hooks, as in shell-operator."""


class Rows:
    """A class with rows in it. Their names begin with `prefix`, where they say `{}`."""

    prefix: str


class Row(Generic[F]):
    """A declared metric. On the class it is itself (for documentation), on an object the live family. `optional` are
    labels after the others that not every series has."""

    def __init__(self, name: str, labels: Sequence[str], text: str, optional: Sequence[str] = ()) -> None:
        self.name = name
        self.labels = tuple(labels)
        self.optional = tuple(optional)
        self.text = text

    def making(self, make: Callable[["Row[F]", str], F]) -> "Row[F]":
        """With what makes the family, given its complete name."""
        self._make = make
        return self

    def __set_name__(self, owner: type[Rows], attribute: str) -> None:
        self._attribute = attribute

    @overload
    def __get__(self, rows: None, owner: type[Rows]) -> "Row[F]": ...

    @overload
    def __get__(self, rows: Rows, owner: type[Rows]) -> F: ...

    def __get__(self, rows: Rows | None, owner: type[Rows]) -> "Row[F] | F":
        if rows is None:
            return self
        family = self._make(self, self.name.format(rows.prefix))
        # From now on the object's own attribute is found first and this method is not called again.
        rows.__dict__[self._attribute] = family
        return family


def counter(name: str, labels: Sequence[str], text: str, optional: Sequence[str] = ()) -> Row[Counter]:
    """The row of a counter."""
    row = Row[Counter](name, labels, text, optional)
    return row.making(lambda row, name: Counter(name, row.text, row.labels, row.optional))


def gauge(name: str, labels: Sequence[str], text: str, optional: Sequence[str] = ()) -> Row[Gauge]:
    """The row of a gauge."""
    row = Row[Gauge](name, labels, text, optional)
    return row.making(lambda row, name: Gauge(name, row.text, row.labels, row.optional))


def histogram(
    name: str,
    labels: Sequence[str],
    text: str,
    buckets: Sequence[float] = DEFAULT_BUCKETS,
    optional: Sequence[str] = (),
) -> Row[Histogram]:
    """The row of a histogram."""
    row = Row[Histogram](name, labels, text, optional)
    return row.making(lambda row, name: Histogram(name, row.text, row.labels, buckets, row.optional))


def rows_of(table: type[Rows]) -> list[Row[Family]]:
    """All rows, those of the classes that it is made of last, each in the order of its file."""
    return [row for part in table.__mro__ for row in vars(part).values() if isinstance(row, Row)]
