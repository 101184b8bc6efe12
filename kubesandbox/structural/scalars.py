"""Rules for numbers and texts in a schema. Of numbers: range of the type, `minimum`, `maximum`, `multipleOf`.

An integer is compared with the whole part of a limit, as Go does.
"""

from collections.abc import Callable
from functools import partial

from kubesandbox.structural.complaints import (
    Complaint,
    factor_not_positive,
    invalid,
    number,
    remark,
    too_long,
    whole,
    wrong_type,
)
from kubetypes import patterns
from kubetypes.formats import FORMATS
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

BITS = {"int32": 31, "int64": 63, "": 63}
LARGEST_FLOAT = 3.4028234663852886e38

Check = Callable[[JSON, JSON, str, list[Complaint]], int]


def number_checks(raw: JSON, types: tuple[str, ...], form: str) -> list[Check]:
    """What can be wrong with a number under a schema. `form` is the format, "" if it is not checked."""
    ranged = types[0] if len(types) == 1 and types[0] in ("integer", "number") else ""
    found: list[Check] = []
    if ranged == "integer" or form == "float":
        found.append(_Range(ranged, form).check)
    if raw.get("multipleOf") is not None:
        factor = raw["multipleOf"]
        found.append(_Factor(factor, _misfit(factor, ranged, form, "MultipleOf")).check)
    for key, sign, what in (("minimum", -1, "Minimum boundary"), ("maximum", 1, "Maximum boundary")):
        if raw.get(key) is not None:
            exclusive = bool(raw.get(f"exclusive{key.capitalize()}"))
            found.append(_Limit(raw[key], _misfit(raw[key], ranged, form, what), sign, exclusive).check)
    return found


def _misfit(value: float, typed: str, form: str, what: str) -> str:
    """The sentence if a value is outside of its type (without the path), else ""."""
    if typed == "integer":
        wrong = value != int(value) or not -(1 << BITS[form]) <= value < 1 << BITS[form]
    else:
        wrong = form == "float" and abs(value) > LARGEST_FLOAT
    named = f"with format {form}" if form else "(default format)"
    return f"{what} value must be of type {typed} {named} in " if wrong else ""


@dataclass(frozen=True, slots=True)
class _Range:
    """What a type and a format hold."""

    typed: str
    form: str

    def check(self, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
        if said := _misfit(value, self.typed, self.form, "Checked"):
            found.append(remark(said + path))
        return 0


@dataclass(frozen=True, slots=True)
class _Limit:
    """`minimum` (sign -1) or `maximum` (sign 1). `misfit` says that the limit is outside of the type, if it is."""

    limit: float
    misfit: str
    sign: int
    exclusive: bool

    def check(self, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
        value, bound = _compared(value, self.limit, self.misfit, path, found)
        over = (value - bound) * self.sign
        if over > 0 or (self.exclusive and over == 0):
            word = "less" if self.sign > 0 else "greater"
            equal = "" if self.exclusive else "or equal to "
            found.append(invalid(path, value, f"should be {word} than {equal}{number(bound)}"))
        return 0


@dataclass(frozen=True, slots=True)
class _Factor:
    """`multipleOf`. `misfit` says that the factor is outside of the type, if it is."""

    factor: float
    misfit: str

    def check(self, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
        value, step = _compared(value, self.factor, self.misfit, path, found)
        if step <= 0:
            found.append(factor_not_positive(path, step))
        elif not _divides(step, value):
            found.append(invalid(path, value, f"should be a multiple of {number(step)}"))
        return 0


def _compared(value: float, limit: float, misfit: str, path: str, found: list[Complaint]) -> tuple[float, float]:
    """Both as integers if the value is one; as floats if not, or if the limit does not fit."""
    if misfit:
        found.append(remark(misfit + path))
    if isinstance(value, int) and not misfit:
        return value, int(limit)
    return float(value), float(limit)


def _divides(step: float, value: float) -> bool:
    if isinstance(step, int) and isinstance(value, int):
        return not value % step
    return whole(1 / step * value if step < 1 else value / step)


# ── texts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

# Rules for texts in a schema: length in characters, `pattern`, `format`. Of the first two only the first problem is
# reported.


def text_checks(raw: JSON, form: str) -> list[Check]:
    """What can be wrong with a text under a schema. `form` is the format, "" if it is not checked."""
    found: list[Check] = []
    if {"minLength", "maxLength"} & raw.keys() or raw.get("pattern"):
        found.append(_Shape(raw).check)
    if known_format(form):
        found.append(partial(_formatted, form))
    return found


def known_format(form: str) -> bool:
    """Whether a format of texts is checked; dashes in its name do not count."""
    return form.replace("-", "") in FORMATS


class _Shape:
    """Length and pattern."""

    def __init__(self, raw: JSON) -> None:
        self._longest = raw.get("maxLength")
        self._shortest = raw.get("minLength")
        self._said = raw.get("pattern", "")
        self._pattern: patterns.Pattern | None = None
        if self._said:
            try:
                self._pattern = patterns.compiled(self._said)
            except patterns.InvalidInGo as error:
                self._said += f", but pattern is invalid: {error}"

    def check(self, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
        if self._longest is not None and len(value) > self._longest:
            found.append(too_long(path, self._longest))
        elif self._shortest is not None and len(value) < self._shortest:
            found.append(invalid(path, value, f"should be at least {self._shortest} chars long"))
        elif self._said and not (self._pattern and self._pattern.matches(value)):
            found.append(invalid(path, value, f"should match '{self._said}'"))
        return 0


def _formatted(form: str, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
    if not FORMATS[form.replace("-", "")](value):
        found.append(wrong_type(path, form, value))
    return 0
