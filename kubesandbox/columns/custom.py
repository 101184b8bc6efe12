"""The cells of custom kinds: whatever `additionalPrinterColumns` say, each by a JSON path and a type.

A path that finds nothing, or something of another type, gives an empty cell (null), which kubectl shows as `<none>`.
"""

from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

import orjson

from kubesandbox.columns.ages import since
from kubesandbox.columns.jsonpath import Path, PathError, parse
from kubesandbox.columns.parts import Cells, Object
from kubetypes.json_values import JSON

# Go escapes these in JSON, so that it can stand in HTML.
ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def custom_cells(columns: tuple[dict[str, Any], ...], obj: Object, now: datetime) -> Cells:
    """A cell for each column of a custom kind."""
    return [_cell(column, obj, now) for column in columns]


@lru_cache(maxsize=1024)
def _path(text: str) -> Path | None:
    try:
        return parse(text)
    except PathError:
        return None


def _cell(column: dict[str, Any], obj: Object, now: datetime) -> JSON:
    path = _path(column["jsonPath"])
    try:
        found = path.find(obj) if path else []
    except PathError:
        found = []
    return _shown(found[0], column["type"], now) if found else None


def _shown(value: Any, kind: str, now: datetime) -> JSON:
    """A value as the cell of a column of a type."""
    match kind:
        case "string":
            return _text(value)
        case "date":
            return _age(value, now) if isinstance(value, str) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case _:
            return _number(value, kind)


def _number(value: Any, kind: str) -> JSON:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Go writes whole numbers without a fraction.
    return int(value) if kind == "integer" or value == int(value) else value


def _age(value: str, now: datetime) -> str:
    try:
        return since("" if value == "null" else value, now)
    except ValueError:
        return "<invalid>"


def _text(value: Any) -> str:
    """A value as Go prints it: texts as they are, lists and objects as JSON."""
    match value:
        case None:
            return "<no value>"
        case bool():
            return str(value).lower()
        case float():
            return _float(value)
        case dict() | list():
            written = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
            return "".join(ESCAPED.get(one, one) for one in written)
        case _:
            return str(value)


def _float(value: float) -> str:
    """The shortest digits, with an exponent from a million on and below 0.0001."""
    _, digits, shift = Decimal(repr(value)).normalize().as_tuple()
    exponent = len(digits) + int(shift) - 1
    if -4 <= exponent < 6:
        return f"{Decimal(repr(value)).normalize():f}"
    mantissa = "".join(map(str, digits))
    sign = "-" if value < 0 else ""
    fraction = f".{mantissa[1:]}" if mantissa[1:] else ""
    return f"{sign}{mantissa[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"
