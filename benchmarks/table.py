"""The result as a table of text, of Markdown, or as JSON."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.measure import Result
from benchmarks.row import Row, Target
from benchmarks.rows import FLOORS
from benchmarks.scenarios import Figures

_MET = {True: "yes", False: "NO", None: ""}


@dataclass(frozen=True, slots=True)
class Line:
    """A row with its numbers: hookrunner's first, then the peers'. The ratio is to the first peer."""

    row: Row
    values: tuple[float, ...]

    @property
    def ratio(self) -> float | None:
        """Our figure by the first peer's."""
        return self.values[0] / self.values[1] if len(self.values) > 1 and self.values[1] else None

    @property
    def met(self) -> bool | None:
        """Is the target reached?"""
        return self.row.target.met(self.values[0], self.values[1] if len(self.values) > 1 else None)


def as_text(result: Result) -> str:
    """Columns for a terminal."""
    cells = list(_cells(result))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(_padded, row, widths)).rstrip() for row in cells)


def as_markdown(result: Result) -> str:
    """A table for a document."""
    head, *rows = [f"| {' | '.join(row)} |" for row in _cells(result)]
    return "\n".join([head, "|---" * (len(result.programs) + 4) + "|", *rows])


def as_json(result: Result) -> str:
    """The numbers in seconds, bytes, runs a second and shares of a CPU, with all samples."""
    rows = [
        {
            "work": line.row.work,
            "values": dict(zip(result.programs, line.values, strict=False)),
            "ratio": line.ratio,
            "met": line.met,
        }
        for line in _lines(result)
    ]
    samples = {measured.group.name: measured.figures for measured in result.groups}
    return json.dumps({"rows": rows, "floors": result.floors, "samples": samples}, indent=2)


FORMATS: dict[str, Callable[[Result], str]] = {"text": as_text, "markdown": as_markdown, "json": as_json}


def _cells(result: Result) -> Iterator[list[str]]:
    yield ["work", *result.programs, "ratio", "to reach", "reached"]
    for line in _lines(result):
        shown = [line.row.unit.shown(value) for value in line.values]
        ratio = "" if line.ratio is None else f"{line.ratio:.2f}"
        shown += [""] * (len(result.programs) - len(shown))
        yield [line.row.work, *shown, ratio, _target(line.row), _MET[line.met]]
    for row in FLOORS:
        if row.figure in result.floors:
            floor = row.unit.shown(row.summary(result.floors[row.figure]))
            yield [f"floor: {row.work}", floor, *[""] * (len(result.programs) + 2)]


def _lines(result: Result) -> Iterator[Line]:
    for measured in result.groups:
        figures = [measured.figures[name] for name in result.programs if name in measured.figures]
        for row in measured.group.rows:
            yield Line(row, tuple(_value(row, each) for each in figures))


def _value(row: Row, figures: Figures) -> float:
    return row.summary(figures[row.figure])


def _target(row: Row) -> str:
    target: Target = row.target
    sign = "≥" if target.more else "≤"
    if target.limit is not None:
        return f"{sign} {row.unit.shown(target.limit)}"
    return "" if target.ratio is None else f"{sign} {target.ratio:g} ×"


def _padded(cell: str, width: int) -> str:
    return cell.ljust(width)
